package extract

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"gander/extract/internal/sqlitefile"
	"gander/schemas"
	"gander/schemas/batch/batchtest"
)

// recovered reads what a database lost, and checks that its directory stays as
// it is.
func recovered(t *testing.T, f *File) (rows, issues []row, report Report) {
	t.Helper()
	mem := memory.NewCheckedAllocator(batchtest.Poison{})
	defer mem.AssertSize(t, 0)
	dir := filepath.Dir(f.Local)
	before := listing(t, dir)
	src := NewRecoveredRows(&Home{ID: "h-alice-00000000"}, f, SourceOptions{Mem: mem})
	for b, err := range src.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(b.NumRows()) {
			r := row{}
			for c, f := range b.Schema().Fields() {
				if v := valueAt(b.Column(c), i); v != nil {
					r[f.Name] = v
				}
			}
			if schemas.NameOf(b.Schema()) == schemas.RecoveredRows.Name {
				rows = append(rows, r)
			} else {
				issues = append(issues, r)
			}
		}
		b.Release()
	}
	if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
		t.Errorf("evidence was changed:\n%s", diff)
	}
	report = src.Report()
	if report.Records != int64(len(rows)) {
		t.Errorf("%d rows, reported %d", len(rows), report.Records)
	}
	return rows, issues, report
}

func listing(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		st, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %v %x", e.Name(), st.ModTime(), sha256.Sum256(data)))
	}
	return out
}

// lostTables are Goose's tables as far as the tests need them.
const lostTables = `CREATE TABLE sessions(id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', working_dir TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, goose_mode TEXT NOT NULL DEFAULT 'auto', accumulated_cost REAL);
CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL, role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, metadata_json TEXT);
CREATE TABLE usage_ledger(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, created_timestamp INTEGER NOT NULL, model TEXT, input_tokens INTEGER, cost REAL);
`

// kept copies the files away before the shell's last connection tidies up.
const kept = ".shell mkdir ev && cp w.db ev/w.db && if [ -e w.db-wal ]; then cp w.db-wal ev/w.db-wal; fi\n"

func lost(t *testing.T, script string) *File {
	t.Helper()
	return databaseFile(filepath.Join(sqliteShell(t, script+kept), "ev", "w.db"))
}

func TestRecoveredRows(t *testing.T) {
	f := lost(t, `PRAGMA journal_mode=WAL;
PRAGMA wal_autocheckpoint=0;
`+lostTables+`
INSERT INTO sessions VALUES('20260102_1', 'one', '/w', '2026-01-02 10:00:00', 'approve', NULL);
INSERT INTO messages VALUES(1, 'm1', '20260102_1', 'user', '[{"type":"text","text":"a \"b\" \u00e9"}]', 1767348000, CAST(x'7b7d' AS BLOB));
INSERT INTO usage_ledger VALUES(1, '20260102_1', 1767348001500, 'm', 10, 2);
UPDATE sessions SET goose_mode = 'auto', accumulated_cost = 0.5;
BEGIN; DELETE FROM messages; DELETE FROM usage_ledger; DELETE FROM sessions; COMMIT;
INSERT INTO sessions VALUES('20260102_1', 'again', '/w', '2026-01-02T11:00:00+00:00', 'auto', NULL);
UPDATE sessions SET name = 'once more', created_at = '2026-01-02 11:00:00';
INSERT INTO messages VALUES(2, 'm2', '20260102_1', 'user', '"x"', 1767352000, NULL);
UPDATE messages SET metadata_json = '{}';
`)
	rows, issues, report := recovered(t, f)
	if len(issues) != 0 || report.Status != Read {
		t.Errorf("%v, %+v", issues, report)
	}
	type r = row
	common := func(table, session, change string, id, first, last int64, created, v string) r {
		return r{"source_file": f.Path, "source_table": table, "row_id": id, "session_id": session, "change": change,
			"evidence": "wal_committed", "first_commit": first, "last_commit": last, "created_at": created, "row_values": v}
	}
	want := []row{
		common("sessions", "20260102_1", "deleted", 1, 4, 6, "2026-01-02T10:00:00", `{"id":"20260102_1","name":"one","working_dir":"/w","created_at":"2026-01-02 10:00:00","goose_mode":"approve","accumulated_cost":null}`),
		common("sessions", "20260102_1", "deleted", 1, 7, 7, "2026-01-02T10:00:00", `{"id":"20260102_1","name":"one","working_dir":"/w","created_at":"2026-01-02 10:00:00","goose_mode":"auto","accumulated_cost":0.5}`),
		common("sessions", "20260102_1", "updated", 1, 9, 9, "2026-01-02T11:00:00", `{"id":"20260102_1","name":"again","working_dir":"/w","created_at":"2026-01-02T11:00:00+00:00","goose_mode":"auto","accumulated_cost":null}`),
		common("messages", "20260102_1", "deleted", 1, 5, 7, "2026-01-02T10:00:00", `{"id":1,"message_id":"m1","session_id":"20260102_1","role":"user","content_json":"[{\"type\":\"text\",\"text\":\"a \\\"b\\\" \\u00e9\"}]","created_timestamp":1767348000,"metadata_json":"{}"}`),
		common("messages", "20260102_1", "updated", 2, 11, 11, "2026-01-02T11:06:40", `{"id":2,"message_id":"m2","session_id":"20260102_1","role":"user","content_json":"\"x\"","created_timestamp":1767352000,"metadata_json":null}`),
		common("usage_ledger", "20260102_1", "deleted", 1, 6, 7, "2026-01-02T10:00:01.5", `{"id":1,"session_id":"20260102_1","created_timestamp":1767348001500,"model":"m","input_tokens":10,"cost":2.0}`),
	}
	for _, r := range rows {
		if page, _ := r["page"].(int64); page < 2 || r["page_offset"] == nil {
			t.Errorf("page %v, offset %v", r["page"], r["page_offset"])
		}
		delete(r, "page")
		delete(r, "page_offset")
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
}

// Rows carved from the main file: without their rowid, which freeblocks write
// over, and with it.
func TestRecoveredRowsCarved(t *testing.T) {
	var script strings.Builder
	script.WriteString("PRAGMA secure_delete=OFF;\n" + lostTables)
	script.WriteString("INSERT INTO sessions VALUES('20260102_1', 'one', '/w', '2026-01-02 10:00:00', 'auto', NULL);\n")
	for id := 1; id <= 7; id++ {
		fmt.Fprintf(&script, "INSERT INTO messages VALUES(%d, 'm%d', '20260102_1', 'user', '[\"number %d\"]', %d, NULL);\n", id, id, id, 1767348000+id)
	}
	for id := 1; id <= 300; id++ {
		fmt.Fprintf(&script, "INSERT INTO usage_ledger VALUES(%d, '20260102_1', %d, 'a model', %d, 0.25);\n", id, 1767348000+id, id)
	}
	script.WriteString("UPDATE messages SET metadata_json = '{\"longer\":true}' WHERE id = 5; DELETE FROM messages WHERE id = 2;\n" +
		"INSERT INTO messages VALUES(8, 'm8', '20260102_1', 'user', '[\"number 8, longer than any other\"]', 1767348008, NULL); DELETE FROM messages WHERE id = 8;\nDELETE FROM usage_ledger;\n")
	f := lost(t, script.String())
	rows, _, _ := recovered(t, f)
	got := map[string]string{}
	ledger := map[any]bool{}
	for _, r := range rows {
		if r["first_commit"] != nil || r["last_commit"] != nil {
			t.Errorf("commits in %v", r)
		}
		if r["source_table"] == "usage_ledger" {
			id := r["row_id"].(int64)
			want := fmt.Sprintf(`{"id":%d,"session_id":"20260102_1","created_timestamp":%d,"model":"a model","input_tokens":%d,"cost":0.25}`, id, 1767348000+id, id)
			if ledger[id] || r["row_values"] != want || r["evidence"] != "free_page" || r["change"] != "deleted" {
				t.Errorf("%v", r)
			}
			ledger[id] = true
			continue
		}
		if r["row_id"] == int64(8) { // newer releases of SQLite do not write over its start
			delete(r, "row_id")
			r["row_values"] = strings.Replace(r["row_values"].(string), `"id":8`, `"id":null`, 1)
		}
		got[r["row_values"].(string)] = fmt.Sprint(r["change"], " ", r["evidence"], " ", r["row_id"])
	}
	want := map[string]string{
		`{"id":null,"message_id":"m2","session_id":"20260102_1","role":"user","content_json":"[\"number 2\"]","created_timestamp":1767348002,"metadata_json":null}`:                        "deleted free_space <nil>",
		`{"id":null,"message_id":"m5","session_id":"20260102_1","role":"user","content_json":"[\"number 5\"]","created_timestamp":1767348005,"metadata_json":null}`:                        "updated free_space <nil>",
		`{"id":null,"message_id":"m8","session_id":"20260102_1","role":"user","content_json":"[\"number 8, longer than any other\"]","created_timestamp":1767348008,"metadata_json":null}`: "deleted free_space <nil>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(ledger) < 200 {
		t.Errorf("%d rows of usage_ledger", len(ledger))
	}
}

func TestRecoveredRowsRefuses(t *testing.T) {
	write := func(t *testing.T, path string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const life = "PRAGMA journal_mode=WAL;\nPRAGMA wal_autocheckpoint=0;\n" + lostTables +
		"INSERT INTO sessions VALUES('20260102_1', 'one', '/w', '2026-01-02 10:00:00', 'auto', NULL); DELETE FROM sessions;\n"
	for _, c := range []struct {
		name   string
		change func(t *testing.T, f *File)
		rows   int
		status Status
		code   any
	}{
		{"nothing wrong", func(*testing.T, *File) {}, 1, Read, nil},
		{"rollback journal", func(t *testing.T, f *File) { f.Journal = &Companion{Size: 512} }, 0, Partial, "recovery_skipped"},
		{"rollback journal without bytes", func(t *testing.T, f *File) { f.Journal = &Companion{} }, 1, Read, nil},
		{"log of another database", func(t *testing.T, f *File) {
			b, err := os.ReadFile(f.Local)
			if err != nil {
				t.Fatal(err)
			}
			b[24] = 0x7f // its change counter
			write(t, f.Local, b)
		}, 0, Read, nil},
		{"empty beside a log", func(t *testing.T, f *File) { write(t, f.Local, nil) }, 1, Read, nil},
		{"not a database", func(t *testing.T, f *File) { write(t, f.Local, []byte(strings.Repeat("text", 99))) }, 0, Partial, nil},
		{"empty", func(t *testing.T, f *File) { write(t, f.Local, nil); f.WAL = nil }, 0, Partial, nil},
		{"log that is none", func(t *testing.T, f *File) { write(t, f.WAL.Local, []byte("none")) }, 0, Read, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := lost(t, life)
			c.change(t, f)
			rows, issues, report := recovered(t, f)
			if len(rows) != c.rows || report.Status != c.status || (report.Note != "") != (c.status == Partial) {
				t.Errorf("%d rows, %+v", len(rows), report)
			}
			var code any
			if len(issues) > 0 {
				code = issues[0]["code"]
			}
			if code != c.code {
				t.Errorf("issue %v", code)
			}
		})
	}
	t.Run("file that is not there", func(t *testing.T) {
		f := &File{Store: SessionsDB, Status: Missing}
		for range NewRecoveredRows(&Home{}, f, SourceOptions{}).Records(t.Context()) {
			t.Error("a batch")
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		f := lost(t, life)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var last error
		for b, err := range NewRecoveredRows(&Home{}, f, SourceOptions{}).Records(ctx) {
			if last = err; b != nil {
				b.Release()
			}
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("%v", last)
		}
	})
}

// Each rule of plausibility, kept and broken.
func TestFits(t *testing.T) {
	r := &recoveredReader{known: map[string]struct{}{"my-project": {}}}
	text := func(s string) sqlitefile.Value { return sqlitefile.Value{Kind: sqlitefile.Text, Bytes: []byte(s)} }
	num := func(n int64) sqlitefile.Value { return sqlitefile.Value{Kind: sqlitefile.Int, Int: n} }
	null := sqlitefile.Value{}
	type change struct {
		column string
		value  sqlitefile.Value
		fits   bool
	}
	for _, c := range []struct {
		table   string
		columns string
		values  []sqlitefile.Value
		changes []change
	}{
		{"messages", "id message_id session_id role content_json created_timestamp timestamp metadata_json other",
			[]sqlitefile.Value{num(1), text("m"), text("20260102_1"), text("user"), text("[]"), num(1767348000), text("2026-01-02 10:00:00"), text("{}"), null},
			[]change{
				{"id", null, true}, {"message_id", null, true}, {"message_id", text("a\x01"), false},
				{"session_id", text("20260102_143013"), true}, {"session_id", text("my-project"), true}, {"session_id", text("another"), false},
				{"session_id", text("20261302_1"), false}, {"session_id", text("20260102-1"), false}, {"session_id", text("20260102_"), false},
				{"session_id", text("20260102_x"), false}, {"session_id", text("20260102_" + strings.Repeat("1", 19)), true},
				{"session_id", text("20260102_" + strings.Repeat("1", 20)), false}, {"session_id", num(5), false},
				{"role", text("assistant"), true}, {"role", text("User"), false}, {"role", text(""), false}, {"role", null, false},
				{"role", text(strings.Repeat("a", maxRole)), true}, {"role", text(strings.Repeat("a", maxRole+1)), false},
				{"content_json", text(`[{"type":"text"}]`), true}, {"content_json", text(`"text"`), true}, {"content_json", text(`{}`), false},
				{"content_json", text(`[`), false}, {"content_json", text(``), false}, {"content_json", null, false},
				{"created_timestamp", num(946684800), true}, {"created_timestamp", num(946684799), false}, {"created_timestamp", num(1767348000123), true},
				{"created_timestamp", text("2026-01-02 10:00:00"), false}, {"created_timestamp", null, false},
				{"timestamp", null, true}, {"timestamp", text("soon"), false},
				{"metadata_json", null, true}, {"metadata_json", text(""), true}, {"metadata_json", text("{"), false},
				{"other", text("tab\tline\n"), true}, {"other", text("\x7f"), false},
			}},
		{"sessions", "id name created_at updated_at extension_data",
			[]sqlitefile.Value{text("20260102_1"), text("one"), text("2026-01-02 10:00:00"), null, text("{}")},
			[]change{
				{"id", text("another"), false}, {"id", null, false}, {"created_at", text("2026-01-02T10:00:00.5+00:00"), true}, {"created_at", num(1767348000), true},
				{"created_at", text("soon"), false}, {"created_at", null, false}, {"updated_at", text("soon"), false},
				{"extension_data", text("}"), false}, {"name", text("a\x00"), false},
			}},
		{"usage_ledger", "id session_id created_timestamp model cost",
			[]sqlitefile.Value{num(1), text("20260102_1"), num(1767348000), text("m"), null},
			[]change{{"session_id", null, false}, {"created_timestamp", num(0), false}, {"model", null, true}, {"cost", num(1), true}}},
	} {
		var columns []sqlitefile.Column
		for _, name := range strings.Fields(c.columns) {
			columns = append(columns, sqlitefile.Column{Name: name})
		}
		if !r.fits(c.table, columns, c.values) {
			t.Errorf("%s: a good row does not fit", c.table)
		}
		if r.fits(c.table, columns[3:], c.values[3:]) {
			t.Errorf("%s: a row without its session fits", c.table)
		}
		for _, x := range c.changes {
			v := append([]sqlitefile.Value(nil), c.values...)
			for i := range columns {
				if columns[i].Name == x.column {
					v[i] = x.value
				}
			}
			if r.fits(c.table, columns, v) != x.fits {
				t.Errorf("%s with %s %q: fits is not %v", c.table, x.column, x.value.Bytes, x.fits)
			}
		}
	}
}

// What the homes that a real Goose wrote have lost. They are not part of the
// repository: GANDER_REAL names the directory with fleet-tree.tar.gz.
func TestRecoveredRowsReal(t *testing.T) {
	dir := os.Getenv("GANDER_REAL")
	if dir == "" {
		t.Skip("GANDER_REAL is not set")
	}
	tree := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", filepath.Join(dir, "fleet-tree.tar.gz"), "-C", tree).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const xdg, windows = ".local/share/goose/sessions/sessions.db", "AppData/Roaming/Block/goose/data/sessions/sessions.db"
	for home, c := range map[string]struct {
		path             string
		messages, ledger int
	}{
		"linux-01/home/gone": {xdg, 5, 2}, "linux-01/home/alice": {xdg, 3, 1}, "mac-02/Users/bob": {xdg, 5, 0},
		"linux-01/home/dave": {xdg, 0, 0}, "win-03/Users/carol": {windows, 0, 0},
	} {
		rows, _, _ := recovered(t, databaseFile(filepath.Join(tree, home, c.path)))
		n := map[string]int{}
		for _, r := range rows {
			n[fmt.Sprint(r["source_table"], " ", r["change"])]++
		}
		if n["messages deleted"] != c.messages || n["usage_ledger deleted"] != c.ledger || n["sessions updated"]+n["sessions deleted"] == 0 {
			t.Errorf("%s: %v", home, n)
		}
	}
}
