package extract

import (
	"testing"

	"gander/cmd/gander-synth/synth/synthtest"
)

// The scan of a database into record batches that nobody reads.
func BenchmarkDatabaseScan(b *testing.B) {
	path, counts := synthtest.Database(b)
	scratch := b.TempDir()
	meter := synthtest.Start(b)
	for b.Loop() {
		source := NewSessionsDB(&Home{}, databaseFile(path), SourceOptions{Scratch: scratch})
		for rec, err := range source.Records(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			rec.Release()
		}
		if got, want := source.Report().Records, counts.Sessions+counts.Messages+counts.Usage; got != want {
			b.Fatalf("%d records, %d were written", got, want)
		}
	}
	meter.Report(counts.DatabaseBytes, counts.Messages)
}
