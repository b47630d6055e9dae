package transform

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"gander/schemas/values"
)

// CLIHistory transforms the entries of history.txt, which name no time and no
// session.
type CLIHistory struct {
	textFile
	overlap *Overlap
}

// NewCLIHistory returns the transform of one file.
func NewCLIHistory(info FileInfo, overlap *Overlap) *CLIHistory {
	return &CLIHistory{textFile: textFile{info: info}, overlap: overlap}
}

// Scan tells the overlap what the file holds. It consumes and releases in.
func (t *CLIHistory) Scan(in iter.Seq2[arrow.RecordBatch, error]) error {
	return scan(in, func(p piece) error {
		t.overlap.WantPrompt(p.text)
		return nil
	})
}

// Tables implements TextStore.
func (t *CLIHistory) Tables(_ context.Context, in iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return t.tables(in, func(p piece) error {
		at := place{line: values.Int{V: p.line, OK: true}, byText: true, role: some("user")}
		e := event{kind: "history_entry", turnType: "user", block: -1, text: some(p.text)}
		t.tally.WithRows++
		t.decide(&at, &e, t.overlap.historyEntry(p.text))
		t.overlap.hold(&e)
		return nil
	}, nil)
}
