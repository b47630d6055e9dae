package transform

import (
	"context"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gander/cmd/gander-synth/synth"
	"gander/cmd/gander-synth/synth/synthtest"
	"gander/extract"
	"gander/schemas"
	"gander/schemas/batch"
	"gander/schemas/jsonval"
)

// records reads a synthetic database into memory.
func records(b *testing.B) ([]arrow.RecordBatch, synth.Counts) {
	path, counts := synthtest.Database(b)
	file := &extract.File{Store: extract.SessionsDB, Local: path, Status: extract.Read, Size: counts.DatabaseBytes, Evidence: true}
	var all []arrow.RecordBatch
	for rec, err := range extract.NewSessionsDB(&extract.Home{}, file, extract.SourceOptions{Scratch: b.TempDir()}).Records(b.Context()) {
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, rec)
	}
	b.Cleanup(func() {
		for _, rec := range all {
			rec.Release()
		}
	})
	return all, counts
}

// replay yields batches that stay the caller's.
func replay(all []arrow.RecordBatch) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, rec := range all {
			rec.Retain()
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// contents are the content_json of the messages among records.
func contents(all []arrow.RecordBatch) (texts []string, bytes int64) {
	for _, rec := range all {
		if schemas.NameOf(rec.Schema()) != schemas.RawMessages.Name {
			continue
		}
		col := rec.Column(schemas.RawMessages.Index("content_json")).(*array.String)
		for i := range col.Len() {
			texts = append(texts, col.Value(i))
			bytes += int64(len(col.Value(i)))
		}
	}
	return texts, bytes
}

// silence answers no permission question.
type silence struct{}

func (silence) ConfirmationContents(context.Context, int64) iter.Seq2[string, error] {
	return func(func(string, error) bool) {}
}

// Records into the tables of a home. With other stores beside it, each block
// is hashed for what it may have in common with them.
func BenchmarkTables(b *testing.B) {
	all, counts := records(b)
	for _, c := range []struct {
		name    string
		overlap func() *Overlap
	}{
		{"alone", NewOverlap},
		{"deduplicated", func() *Overlap {
			o := NewOverlap()
			for i := range 200 {
				o.WantPrompt(fmt.Sprint("prompt ", i))
			}
			for _, rec := range all {
				if schemas.NameOf(rec.Schema()) == schemas.RawSessions.Name {
					ids := rec.Column(schemas.RawSessions.Index("session_id")).(*array.String)
					for i := range ids.Len() {
						o.WantSession(ids.Value(i))
					}
				}
			}
			return o
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			rows := int64(0)
			meter := synthtest.Start(b)
			for b.Loop() {
				rows = 0
				db := &SessionsDB{HomeID: "h-u-00000000", File: "/sessions.db", Mem: memory.DefaultAllocator, Confirmations: silence{}, Overlap: c.overlap(),
					Spool: func() (Spool, error) { return os.CreateTemp(b.TempDir(), "spool") }}
				for rec, err := range db.Tables(b.Context(), replay(all)) {
					if err != nil {
						b.Fatal(err)
					}
					rows += rec.NumRows()
					rec.Release()
				}
			}
			meter.Report(counts.DatabaseBytes, rows)
		})
	}
}

// The JSON of messages into events that nobody writes and calls that go to
// batches.
func BenchmarkBlocks(b *testing.B) {
	all, _ := records(b)
	texts, bytes := contents(all)
	set := batch.NewSet(memory.DefaultAllocator, func(rec arrow.RecordBatch) bool {
		rec.Release()
		return true
	})
	defer set.Release()
	events := int64(0)
	r := newSessionsReader(b.Context(), &SessionsDB{Overlap: NewOverlap()}, set)
	r.content.emit = func(*place, *event) string { events++; return "00000000000000000000000000000000" }
	m := message{turn: "assistant"}
	var doc jsonval.Doc
	meter := synthtest.Start(b)
	for b.Loop() {
		events = 0
		for i, text := range texts {
			if i%100 == 0 {
				r.pairs.restart(some("s"))
			}
			if err := doc.Parse(text); err != nil {
				b.Fatal(err)
			}
			m.number++
			if err := r.content.blocks(&m, doc.Root()); err != nil {
				b.Fatal(err)
			}
		}
	}
	meter.Report(bytes, events)
}

// The chunks of a streamed reply into the message that Goose stores.
func BenchmarkAssemble(b *testing.B) {
	var chunks []string
	bytes := int64(0)
	for i := range 2000 {
		chunk := fmt.Sprintf(`{"id":"chatcmpl-1","role":"assistant","created":1796068399,"content":[{"type":"text","text":"word %d of a reply "}],"metadata":{"userVisible":true,"agentVisible":true}}`, i)
		chunks = append(chunks, chunk)
		bytes += int64(len(chunk))
	}
	var doc jsonval.Doc
	meter := synthtest.Start(b)
	for b.Loop() {
		var a assembler
		for _, chunk := range chunks {
			if err := doc.Parse(chunk); err != nil {
				b.Fatal(err)
			}
			a.push(doc.Root())
		}
		if len(a.messages) != 1 || !strings.Contains(a.messages[0].content(), "word 1999") {
			b.Fatal("the chunks are not joined")
		}
	}
	meter.Report(bytes, int64(len(chunks)))
}

// Blocks of primary messages past an Overlap that was asked for texts: most
// blocks are no answer. Texts are short, so that the questions are the cost.
func BenchmarkOverlap(b *testing.B) {
	const asked = 200_000 // six records each, and their sessions
	texts := make([]string, 2*asked)
	for i := range texts {
		texts[i] = fmt.Sprint("text ", i)
	}
	for _, c := range []struct {
		name    string
		overlap *Overlap
	}{{"memory", NewOverlap()}, {"spilled", spilling(b, OverlapInMemory)}, {"disk", spilling(b, 1<<10)}} {
		o := c.overlap
		call := o.logged("llm_request.0.jsonl", micros(0), "m")
		at := micros(noon * 1_000_000)
		for _, text := range texts[:asked] {
			l := loggedBlocks{overlap: o, id: text}
			l.add(&event{kind: "text", turnType: "assistant", at: at, text: some(text)})
			o.wantMessage(call, text, l.blocks)
		}
		p := place{session: some("s")}
		for _, miss := range []bool{false, true} {
			b.Run(c.name+map[bool]string{false: "/hit", true: "/miss"}[miss], func(b *testing.B) {
				i, first := 0, 0
				if miss {
					first = asked
				}
				for b.Loop() {
					i = (i + 7919) % asked // a prime: each text once
					o.block(&p, &event{kind: "text", turnType: "assistant", at: at, text: some(texts[first+i])}, eventRef{id: [16]byte{1}, at: at})
				}
				if err := o.Err(); err != nil {
					b.Fatal(err)
				}
			})
		}
		if err := o.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
