package duckdb

import (
	"path/filepath"
	"testing"

	"gander/cmd/gander-synth/synth/synthtest"
	"gander/extract"
	"gander/load/pipeline"
	"gander/load/warehouse"
)

// The Parquet files of a home into the database.
func BenchmarkBuild(b *testing.B) {
	path, counts := synthtest.Database(b)
	w, err := warehouse.Open(filepath.Join(b.TempDir(), "w"))
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	// The home is seven directories above its database.
	home := path
	for range 7 {
		home = filepath.Dir(home)
	}
	opened, err := extract.Open(b.Context(), []string{home}, extract.Options{Scratch: w.Scratch()})
	if err != nil {
		b.Fatal(err)
	}
	defer opened.Close()
	sum, err := (&pipeline.Runner{Warehouse: w, RunID: "r"}).Run(b.Context(), pipeline.Jobs(opened))
	if err != nil || !sum.Complete() {
		b.Fatal(err, sum.Problems)
	}
	rows := int64(0)
	for _, n := range sum.Rows {
		rows += n
	}
	meter := synthtest.Start(b)
	for b.Loop() {
		if err := Build(b.Context(), w.Dir(), Options{Scratch: w.Scratch(), MemoryLimit: "256MB"}); err != nil {
			b.Fatal(err)
		}
	}
	meter.Report(counts.DatabaseBytes, rows)
}
