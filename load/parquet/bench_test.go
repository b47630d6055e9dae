package parquet

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gander/cmd/gander-synth/synth/synthtest"
	"gander/extract"
	"gander/transform"
)

// silence answers no permission question.
type silence struct{}

func (silence) ConfirmationContents(context.Context, int64) iter.Seq2[string, error] {
	return func(func(string, error) bool) {}
}

// The tables of a home, as the transform yields them, into their files.
func BenchmarkWrite(b *testing.B) {
	path, counts := synthtest.Database(b)
	file := &extract.File{Store: extract.SessionsDB, Local: path, Status: extract.Read, Size: counts.DatabaseBytes, Evidence: true}
	source := extract.NewSessionsDB(&extract.Home{}, file, extract.SourceOptions{Scratch: b.TempDir()})
	db := &transform.SessionsDB{HomeID: "h-u-00000000", File: "/sessions.db", Mem: memory.DefaultAllocator, Confirmations: silence{}, Overlap: transform.NewOverlap(),
		Spool: func() (transform.Spool, error) { return os.CreateTemp(b.TempDir(), "spool") }}
	var all []arrow.RecordBatch
	rows := int64(0)
	for rec, err := range db.Tables(b.Context(), source.Records(b.Context())) {
		if err != nil {
			b.Fatal(err)
		}
		defer rec.Release()
		all = append(all, rec)
		rows += rec.NumRows()
	}
	dir := b.TempDir()
	written := int64(0)
	meter := synthtest.Start(b)
	for b.Loop() {
		w := NewWriter(filepath.Join(dir, "out"), Options{})
		for _, rec := range all {
			if err := w.Write(rec); err != nil {
				b.Fatal(err)
			}
		}
		files, err := w.Close()
		if err != nil {
			b.Fatal(err)
		}
		written = 0
		for _, f := range files {
			written += f.Bytes
			if err := os.RemoveAll(filepath.Join(dir, "out", f.Table)); err != nil {
				b.Fatal(err)
			}
		}
	}
	meter.Report(counts.DatabaseBytes, rows)
	b.ReportMetric(float64(written)/float64(counts.DatabaseBytes), "out/in")
}
