package transform

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"gander/schemas"
	"gander/schemas/batch/batchtest"
	"gander/schemas/values"
)

const fileChanged = "2026-11-30 19:52:17.5"

// settingsInfo is a file of a store of the home, changed at fileChanged.
func settingsInfo(store, rel string) FileInfo {
	us, ok := values.TextTime(fileChanged)
	return FileInfo{HomeID: "h-u-00000000", Store: store, Path: "/home/u/" + rel, Rel: rel, MTime: values.Int{V: us, OK: ok}}
}

// settingsOut is what a document became.
type settingsOut struct {
	tables
	Tally
	malformed bool
}

// readDocument passes a document through a store with a checked allocator and
// checks that the tally reconciles.
func readDocument(t testing.TB, info FileInfo, open func(FileInfo) TextStore, text string, records int64) settingsOut {
	t.Helper()
	mem := memory.NewCheckedAllocator(batchtest.Poison{})
	if tt, ok := t.(*testing.T); ok {
		defer mem.AssertSize(tt, 0)
	}
	info.Mem = mem
	var s stream
	s.add(schemas.RawLines, rec{"line": 1, "text": text, "cut": false})
	store := open(info)
	out := tables{}
	for b, err := range store.Tables(context.Background(), s.batches(t, mem)) {
		if err != nil {
			t.Fatal(err)
		}
		out.add(t, b)
		b.Release()
	}
	tally := store.Tally()
	if records < 0 {
		records = tally.Records()
	}
	if err := tally.Check(records); err != nil {
		t.Errorf("%v\n%.200q", err, text)
	}
	for table, n := range map[string]int64{"events": tally.Events, "issues": tally.Issues} {
		if got := int64(len(out[table])); got != n {
			t.Errorf("%d %s, the tally says %d", got, table, n)
		}
	}
	ids := map[any]bool{}
	for i, e := range out["events"] {
		if e["event_seq"] != int64(i+1) {
			t.Errorf("event %d has event_seq %v", i, e["event_seq"])
		}
		if ids[e["event_id"]] {
			t.Errorf("event_id repeats: %v", e["text"])
		}
		ids[e["event_id"]] = true
		if e["turn_type"] != "system" || e["session_id"] != nil || e["model"] != nil {
			t.Errorf("event %v", e)
		}
		if e["kind"] == "parser_issue" && e["occurred_at"] != nil {
			t.Errorf("a parser_issue has a time: %v", e)
		}
	}
	return settingsOut{out, tally, store.Malformed()}
}

// rows are the named columns of a table, a line per row.
func (o settingsOut) rows(table string, columns ...string) string {
	return strings.Join(pick(o.tables[table], "", columns...), "\n")
}

func check(t *testing.T, what, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// nested is a JSON text of so many arrays in one another, within a list.
func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

// jsonStores are the stores whose file is one JSON document, with an empty
// one and one of another type.
var jsonStores = []struct {
	store        string
	open         func(FileInfo) TextStore
	empty, other string
	message      string
	deep         func(depth int) string // a document nested so deep
}{
	{"tool_permissions_json", func(i FileInfo) TextStore { return NewToolPermissions(i) }, "{}", "[]", "the file's JSON is not an object",
		func(n int) string { return `{"x":` + nested(n-1) + `}` }},
	{"roaming_trust", func(i FileInfo) TextStore { return NewRoamingTrust(i) }, "{}", "[]", "the file's JSON is not an object",
		func(n int) string { return `{"x":` + nested(n-1) + `}` }},
	{"roaming_directory", func(i FileInfo) TextStore { return NewRoamingDirectory(i) }, "[]", `"x"`, "the file's JSON is not a list", nested},
	{"schedule_json", func(i FileInfo) TextStore { return NewSchedules(i) }, "[]", "{}", "the file's JSON is not a list", nested},
}

func TestJSONFiles(t *testing.T) {
	for _, s := range jsonStores {
		t.Run(s.store, func(t *testing.T) {
			info := settingsInfo(s.store, "f.json")
			bad := func(text, message string) {
				t.Helper()
				out := readDocument(t, info, s.open, text, 0)
				if !out.malformed {
					t.Errorf("%.40q is not malformed", text)
				}
				check(t, "event", out.rows("events", "kind", "text", "source_line"), "parser_issue ¦ parser: "+message+" ¦ ∅")
				check(t, "issue", out.rows("issues", "store", "code", "message", "source_file", "source_line"),
					s.store+" ¦ bad_file ¦ "+message+" ¦ /home/u/f.json ¦ ∅")
			}
			good := func(text string) settingsOut {
				t.Helper()
				out := readDocument(t, info, s.open, text, -1)
				if out.malformed || strings.Contains(out.rows("issues", "code"), "bad_file") {
					t.Errorf("%.40q is malformed", text)
				}
				return out
			}
			bad("", "the file is not JSON")
			bad(s.empty+"x", "the file is not JSON")
			bad(s.other, s.message)
			bad("null", s.message)
			bad(s.deep(1001), "the file's JSON is nested deeper than 1,000")
			good(s.deep(1000))
			if out := good(s.empty); len(out.tables) != 0 {
				t.Errorf("an empty document gives %v", out.tables)
			}
			text := `{"\ud800":1}`
			if s.empty == "[]" {
				text = `["\ud800"]`
			}
			if got := good(text).rows("issues", "code"); !strings.HasPrefix(got, "invalid_utf8") {
				t.Errorf("lone surrogate: issues %s", got)
			}
		})
	}
}

// What extract could not read has its issue and its event, and no record.
func TestSettingsUnreadable(t *testing.T) {
	for _, s := range jsonStores {
		mem := memory.NewCheckedAllocator(batchtest.Poison{})
		info := settingsInfo(s.store, "f.json")
		info.Mem = mem
		var in stream
		in.add(schemas.RawIssues, rec{"code": "bad_file", "message": "it cannot be read"})
		store, out := s.open(info), tables{}
		for b, err := range store.Tables(context.Background(), in.batches(t, mem)) {
			if err != nil {
				t.Fatal(err)
			}
			out.add(t, b)
			b.Release()
		}
		check(t, s.store, strings.Join(pick(out["events"], "", "text"), "\n"), "parser: it cannot be read")
		if err := store.Tally().Check(0); err != nil {
			t.Error(err)
		}
		mem.AssertSize(t, 0)
	}
}
