package transform

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"gander/schemas"
	"gander/schemas/batch/batchtest"
	"gander/schemas/values"
)

// homeOf is what a home holds, for tests of the stores together.
type homeOf struct {
	database stream
	legacy   map[string]string // session id -> file
	logs     map[string]string // file name -> file
	history  []string
}

// fileTime is that of every file of a homeOf.
const fileTime = "2026-10-02 12:00:00"

func lineStream(text string) stream {
	var s stream
	for i, l := range strings.Split(text, "\n") {
		if strings.TrimSpace(l) != "" {
			s.add(schemas.RawLines, rec{"line": i + 1, "text": strings.TrimSpace(l), "cut": !strings.HasSuffix(text, "\n") && i == strings.Count(text, "\n")})
		}
	}
	return s
}

// runHome reads a home as the pipeline does and returns its tables. They must be
// the same wherever Overlap has its records.
func runHome(t testing.TB, h homeOf) tables {
	t.Helper()
	out := runHomeIn(t, h, NewOverlap())
	for _, records := range []int{0, 20} {
		spilled := runHomeIn(t, h, spilling(t, records))
		if diff := cmp.Diff(out, spilled); diff != "" {
			t.Errorf("with %d records in memory: %s", records, diff)
		}
	}
	return out
}

// spilling is an Overlap that has so many records in memory.
func spilling(t testing.TB, records int) *Overlap {
	o := NewOverlap()
	o.SpillTo(func() (OverlapFile, error) {
		f, err := os.CreateTemp(t.TempDir(), "overlap")
		return removed{f}, err
	}, records)
	return o
}

// removed is a file that is gone when it is closed.
type removed struct{ *os.File }

func (f removed) Close() error { return errors.Join(f.File.Close(), os.Remove(f.Name())) }

func runHomeIn(t testing.TB, h homeOf, overlap *Overlap) tables {
	t.Helper()
	defer overlap.Close()
	mem := memory.NewCheckedAllocator(batchtest.Poison{})
	if tt, ok := t.(*testing.T); ok {
		defer mem.AssertSize(tt, 0)
	}
	ctx := context.Background()
	spool := func() (Spool, error) { return os.CreateTemp(t.TempDir(), "spool") }
	us, _ := values.TextTime(fileTime)
	info := func(store, rel string) FileInfo {
		return FileInfo{HomeID: "h-u-00000000", Store: store, Path: "/home/u/" + rel, Rel: rel, MTime: values.Int{V: us, OK: true}, Mem: mem}
	}
	out := tables{}
	read := func(s TextStore, in stream, records int64) {
		t.Helper()
		for b, err := range s.Tables(ctx, in.batches(t, mem)) {
			if err != nil {
				t.Fatal(err)
			}
			out.add(t, b)
			b.Release()
		}
		if err := s.Tally().Check(records); err != nil {
			t.Error(err)
		}
	}
	log := func(name string) FileInfo {
		i := info("llm_request_log", "logs/"+name)
		i.Size = int64(len(h.logs[name]))
		return i
	}
	var entries stream
	for i, e := range h.history {
		entries.add(schemas.RawLines, rec{"line": i + 2, "text": e, "cut": false})
	}

	calls := map[string]*LoggedCall{}
	for id := range h.legacy {
		overlap.WantSession(id)
	}
	for _, name := range sorted(h.logs) {
		call, err := NewRequestLog(log(name), overlap, nil, "", nil).Scan(lineStream(h.logs[name]).batches(t, mem))
		if err != nil {
			t.Fatal(err)
		}
		calls[name] = call
	}
	if err := NewCLIHistory(info("cli_history", "history.txt"), overlap).Scan(entries.batches(t, mem)); err != nil {
		t.Fatal(err)
	}
	db := &SessionsDB{HomeID: "h-u-00000000", File: "/home/u/sessions.db", Mem: mem, Confirmations: confirmations{h.database}, Spool: spool, Overlap: overlap}
	for b, err := range db.Tables(ctx, h.database.batches(t, mem)) {
		if err != nil {
			t.Fatal(err)
		}
		out.add(t, b)
		b.Release()
	}
	if tally := db.Tally(); tally.Check(tally.Records()) != nil {
		t.Error(tally.Check(tally.Records()))
	}
	for _, id := range sorted(h.legacy) {
		in := lineStream(h.legacy[id])
		read(NewLegacyJSONL(info("legacy_jsonl", "sessions/"+id+".jsonl"), overlap, spool), in, int64(len(in)))
	}
	sha := func(name string) string { return values.SHA256Hex([]byte(h.logs[name])) }
	for _, name := range sorted(h.logs) {
		in := lineStream(h.logs[name])
		read(NewRequestLog(log(name), overlap, spool, sha(name), calls[name]), in, min(int64(len(h.logs[name])), 1))
	}
	read(NewCLIHistory(info("cli_history", "history.txt"), overlap), entries, int64(len(entries)))
	for _, name := range sorted(h.logs) {
		r := NewRequestLog(log(name), overlap, nil, sha(name), calls[name])
		for b, err := range r.Recover(ctx, lineStream(h.logs[name]).batches(t, mem)) {
			if err != nil {
				t.Fatal(err)
			}
			out.add(t, b)
			b.Release()
		}
	}
	if err := overlap.Err(); err != nil {
		t.Error(err)
	}
	// A link always names an event that is there.
	ids := map[any]bool{}
	for _, e := range out["events"] {
		if ids[e["event_id"]] {
			t.Errorf("event id %v comes twice", e["event_id"])
		}
		ids[e["event_id"]] = true
	}
	for _, l := range out["dedup_links"] {
		if !ids[l["kept_event_id"]] {
			t.Errorf("link to no event: %v", l)
		}
	}
	return out
}

func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
