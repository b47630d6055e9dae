package pipeline

import (
	"path/filepath"
	"testing"

	"gander/cmd/gander-synth/synth"
	"gander/cmd/gander-synth/synth/synthtest"
	"gander/extract"
	"gander/load/warehouse"
)

// Inputs into committed Parquet files: one home, a fleet of 1 MB homes of the
// same size together, and a home with the other stores beside its database.
func BenchmarkRun(b *testing.B) {
	mb := synthtest.MB(b)
	home, fleet, stores := synth.Defaults(), synth.Defaults(), synth.Defaults()
	home.MB = mb
	fleet.MB, fleet.Homes, fleet.WAL = 1, max(int(mb), 1), 0.5
	stores.MB, stores.Legacy, stores.Logs, stores.History = mb, 50, 10, 1000
	for _, c := range []struct {
		name    string
		options synth.Options
	}{{"home", home}, {"fleet", fleet}, {"stores", stores}} {
		b.Run(c.name, func(b *testing.B) {
			dir, counts := synthtest.Fleet(b, c.options)
			w, err := warehouse.Open(filepath.Join(b.TempDir(), "w"))
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			rows := int64(0)
			meter := synthtest.Start(b)
			for b.Loop() {
				opened, err := extract.Open(b.Context(), []string{dir}, extract.Options{Scratch: w.Scratch()})
				if err != nil {
					b.Fatal(err)
				}
				sum, err := (&Runner{Warehouse: w, RunID: "r"}).Run(b.Context(), Jobs(opened))
				if err != nil || !sum.Complete() || sum.Homes != counts.Homes {
					b.Fatal(err, sum.Problems, sum.Failures)
				}
				if err := opened.Close(); err != nil {
					b.Fatal(err)
				}
				rows = 0
				for _, n := range sum.Rows {
					rows += n
				}
			}
			meter.Report(counts.DatabaseBytes, rows)
		})
	}
}
