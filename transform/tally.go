package transform

import "fmt"

// Tally accounts for one source: every record is counted once, and every row
// that was built stands in events or in dedup_links.
type Tally struct {
	// Records by what became of them; the first that applies counts.
	Bad         int64 // a parser_issue stands in its place
	WithRows    int64 // rows of events
	WithoutRows int64 // none: an empty content list

	UsageRows int64 // rows of usage: usage_ledger is counted apart

	Events     int64 // rows of events, parser_issue included
	Duplicates int64 // rows of dedup_links
	Built      int64 // rows built, before any was left out
	Issues     int64 // rows of issues
}

// Records returns how many records were read.
func (t Tally) Records() int64 { return t.Bad + t.WithRows + t.WithoutRows + t.UsageRows }

// Check compares the tally with itself and with the number of records that the
// source says it yielded.
func (t Tally) Check(yielded int64) error {
	if got := t.Records(); got != yielded {
		return fmt.Errorf("records do not add up: %d yielded, %d accounted for (%d bad, %d with rows, %d without, %d of usage)",
			yielded, got, t.Bad, t.WithRows, t.WithoutRows, t.UsageRows)
	}
	if t.Built != t.Events+t.Duplicates {
		return fmt.Errorf("rows do not add up: %d built, %d events and %d duplicates", t.Built, t.Events, t.Duplicates)
	}
	return nil
}
