package transform

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gander/schemas"
	"gander/schemas/batch"
	"gander/schemas/jsonval"
	"gander/schemas/values"
)

// FileInfo is what the rows of a text file's store say of the file.
type FileInfo struct {
	HomeID string
	Store  string
	Path   string           // source_file
	Rel    string           // <file> in texts: below the home, with '/'
	MTime  values.Int       // microseconds; absent when unknown
	Size   int64            // bytes
	Mem    memory.Allocator // of the batches
}

// TextStore transforms the lines, entries or the document of one file
// (schemas.RawLines and RawIssues) into finished tables.
type TextStore interface {
	Tables(ctx context.Context, in iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error]
	// Tally accounts for what went through Tables; valid after it.
	Tally() Tally
	// Malformed reports that the file as a whole is not what its store holds:
	// a document that does not parse, lines of which none is good.
	Malformed() bool
}

// textFile is the common part of text stores: what writes their rows.
type textFile struct {
	info      FileInfo
	set       *batch.Set
	events    eventWriter
	issues    issueWriter
	tally     Tally
	malformed bool
	doc       jsonval.Doc
}

// Tally implements TextStore.
func (t *textFile) Tally() Tally { return t.tally }

// Malformed implements TextStore.
func (t *textFile) Malformed() bool { return t.malformed }

// piece is one row of schemas.RawLines. Its text is a view of the batch.
type piece struct {
	line int64
	text string
	cut  bool
}

// tables runs a transform over the pieces of the file: each in order, then end
// once. Findings of extract become issues.
func (t *textFile) tables(in iter.Seq2[arrow.RecordBatch, error], each func(piece) error, end func() error) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		set := t.open(yield)
		defer set.Release()
		for rec, err := range in {
			if err == nil {
				err = t.batch(rec, each)
			}
			if set.Stopped() {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		if end != nil {
			if err := end(); err != nil {
				yield(nil, err)
				return
			}
		}
		set.Flush()
		t.tally.Issues = t.issues.n
	}
}

// open makes what writes the rows; the caller releases it.
func (t *textFile) open(yield func(arrow.RecordBatch, error) bool) *batch.Set {
	t.set = batch.NewSet(t.info.Mem, func(rec arrow.RecordBatch) bool { return yield(rec, nil) })
	t.events = eventWriter{out: t.set.Table(schemas.Events), homeID: t.info.HomeID, store: t.info.Store, file: t.info.Path, seen: map[string]uint32{}}
	t.issues = issueWriter{out: t.set.Table(schemas.Issues), store: t.info.Store, file: t.info.Path}
	return t.set
}

func (t *textFile) batch(rec arrow.RecordBatch, each func(piece) error) error {
	defer rec.Release()
	switch name := schemas.NameOf(rec.Schema()); name {
	case schemas.RawLines.Name:
		return pieces(rec, each)
	case schemas.RawIssues.Name:
		at := row{raw: raw{columnsOf(schemas.RawIssues), rec}}
		for at.i = 0; at.i < int(rec.NumRows()); at.i++ {
			p := place{line: at.int("source_line")}
			is := issue{at.str("code"), at.str("message"), at.value("value")}
			t.issues.write(&p, is)
			if is.code == "bad_file" {
				t.unreadable(is.message)
			}
		}
	default:
		return fmt.Errorf("transform: no table %q", name)
	}
	return nil
}

// emit writes an event and counts it.
func (t *textFile) emit(p *place, e *event) string {
	t.tally.Built++
	t.tally.Events++
	return t.events.write(p, e)
}

// system is an event of no session and no block.
func system(kind, text string, at values.Int) *event {
	return &event{kind: kind, turnType: "system", at: at, block: -1, text: some(text)}
}

// unreadable writes the event of a file that cannot be read; its issue is there.
func (t *textFile) unreadable(message string) {
	t.emit(&place{byText: true}, system("parser_issue", "parser: "+message, values.Int{}))
}

// badFile writes issue and event of a file that is not what its store holds.
func (t *textFile) badFile(message, value string) {
	t.malformed = true
	t.issues.write(&place{}, issue{"bad_file", message, some(value)})
	t.unreadable(message)
}

// badLine writes issue and event of a line that is not JSON, or JSON of
// another type than the store's; why is a reason as issues tell it.
func (t *textFile) badLine(p *place, why, line string) {
	text := "parser: unparseable record " + strconv.FormatInt(p.line.V, 10) + " (line: " + why + ")"
	code := "bad_" + why
	if why == "type" {
		code = "unknown_line"
	}
	t.issues.write(p, issue{code, text, some(line)})
	t.emit(p, &event{kind: "parser_issue", turnType: "system", block: -1, text: some(text + ": " + line)})
}

// loneSurrogate notes that the document just parsed has text that is no text.
func (t *textFile) loneSurrogate(p *place) {
	if t.doc.LoneSurrogate() {
		t.issues.write(p, issue{code: "invalid_utf8", message: "the JSON holds a lone surrogate; it reads as U+FFFD"})
	}
}
