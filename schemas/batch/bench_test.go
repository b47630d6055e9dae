package batch

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gander/cmd/gander-synth/synth/synthtest"
	"gander/schemas"
)

// Rows of events into record batches.
func BenchmarkWriter(b *testing.B) {
	text := strings.Repeat("output of a tool ", 60)
	n := max(int(synthtest.MB(b)*1e6)/len(text), 1)
	meter := synthtest.Start(b)
	for b.Loop() {
		rows := int64(0)
		set := NewSet(memory.DefaultAllocator, func(rec arrow.RecordBatch) bool {
			rows += rec.NumRows()
			rec.Release()
			return true
		})
		w := set.Table(schemas.Events)
		for i := range n {
			for _, c := range schemas.Events.Columns {
				switch {
				case c.Name == "text":
					w.Text(text)
				case c.Kind == schemas.Int:
					w.Int(int64(i))
				case c.Kind == schemas.Time:
					w.Micros(int64(i), true)
				case c.Kind == schemas.Bool:
					w.Bool(i%2 == 0)
				case c.Kind == schemas.Text:
					w.Text("session_1")
				default:
					w.Null()
				}
			}
			w.End()
		}
		set.Flush()
		set.Release()
		if rows != int64(n) {
			b.Fatalf("%d rows of %d", rows, n)
		}
	}
	meter.Report(int64(n*len(text)), int64(n))
}
