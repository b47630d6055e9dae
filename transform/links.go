package transform

import (
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"gander/schemas"
	"gander/schemas/batch"
	"gander/schemas/values"
)

// linkWriter writes the rows of dedup_links of one source.
type linkWriter struct {
	out    *batch.Writer
	events *eventWriter
}

// write appends the link of an event that another one stays for.
func (w *linkWriter) write(p *place, e *event, v verdict) {
	o := w.out
	o.Text(w.events.store)
	o.Text(e.kind)
	if e.text.ok {
		o.Text(values.SHA256Hex([]byte(e.text.s)))
	} else {
		o.Null()
	}
	o.Text(v.rule)
	o.Text(v.kept.eventID())
	o.OptFloat(v.kept.secondsApart(e.at))
	w.events.origin(o, p)
	o.End()
}

// decide writes the event, or the link to the one that stays for it. It
// returns the id of the event written, "" for a link.
func (t *textFile) decide(p *place, e *event, v verdict) string {
	if v.rule == "" {
		return t.emit(p, e)
	}
	t.tally.Built++
	t.tally.Duplicates++
	w := linkWriter{t.set.Table(schemas.DedupLinks), &t.events}
	w.write(p, e, v)
	return ""
}

// scan passes the pieces of a file to each, and what extract found to nobody:
// it is found again when the file is read for its rows.
func scan(in iter.Seq2[arrow.RecordBatch, error], each func(piece) error) error {
	for rec, err := range in {
		if err != nil {
			return err
		}
		err = func() error {
			defer rec.Release()
			switch name := schemas.NameOf(rec.Schema()); name {
			case schemas.RawLines.Name:
				return pieces(rec, each)
			case schemas.RawIssues.Name:
				return nil
			default:
				return fmt.Errorf("transform: no table %q", name)
			}
		}()
		if err != nil {
			return err
		}
	}
	return nil
}

// pieces passes on the rows of a batch of raw.lines.
func pieces(rec arrow.RecordBatch, each func(piece) error) error {
	at := row{raw: raw{columnsOf(schemas.RawLines), rec}}
	for at.i = 0; at.i < int(rec.NumRows()); at.i++ {
		cut, _ := at.bool("cut")
		if err := each(piece{at.int("line").V, at.str("text"), cut}); err != nil {
			return err
		}
	}
	return nil
}
