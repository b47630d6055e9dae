package extract

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"gander/schemas"
	"gander/schemas/batch"
	"gander/schemas/batch/batchtest"
	"gander/schemas/fault"
	"gander/schemas/values"
)

// sqliteShell runs a script of the sqlite3 command on w.db in a directory of its
// own and returns the directory.
func sqliteShell(t *testing.T, script string) string {
	t.Helper()
	bin, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("no sqlite3 command")
	}
	dir := t.TempDir()
	cmd := exec.Command(bin, "-batch", "w.db")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "rror") {
		t.Fatalf("sqlite3: %v\n%s", err, out)
	}
	return dir
}

// databaseFile is the File of a database and the companions beside it.
func databaseFile(path string) *File {
	f := &File{Store: SessionsDB, Path: "/home/alice/.local/share/goose/sessions/sessions.db", Local: path, Status: Read, Evidence: true}
	if st, err := os.Stat(path + "-wal"); err == nil {
		f.WAL = &Companion{Local: path + "-wal", Size: st.Size()}
	}
	if st, err := os.Stat(path + "-journal"); err == nil {
		f.Journal = &Companion{Local: path + "-journal", Size: st.Size()}
	}
	return f
}

type row map[string]any

// told is what a source yields: its rows by table, and the tables in the order
// of their batches.
type told struct {
	rows   map[string][]row
	order  []string
	report Report
}

// tell reads a source to its end and checks what holds for every stream.
func tell(t *testing.T, f *File) told {
	t.Helper()
	mem := memory.NewCheckedAllocator(batchtest.Poison{})
	defer mem.AssertSize(t, 0)
	scratch := t.TempDir()
	src := NewSessionsDB(&Home{ID: "h-alice-00000000"}, f, SourceOptions{Mem: mem, Scratch: scratch})
	out := told{rows: map[string][]row{}}
	next, known := int64(0), map[int64]bool{}
	for b, err := range src.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		name := schemas.NameOf(b.Schema())
		if name == "raw.sessions" {
			clear(known) // the messages of a batch come before the next
		}
		out.order = append(out.order, name)
		for i := range int(b.NumRows()) {
			r := row{}
			for c, f := range b.Schema().Fields() {
				if v := valueAt(b.Column(c), i); v != nil {
					r[f.Name] = v
				}
			}
			switch name {
			case "raw.sessions":
				if r["ordinal"] != next {
					t.Errorf("session has ordinal %v, not %d", r["ordinal"], next)
				}
				known[next] = true
				next++
			case "raw.messages":
				if s, ok := r["session"].(int64); !ok || !known[s] {
					t.Errorf("message %v is not of the sessions before it", r)
				}
			}
			out.rows[name] = append(out.rows[name], r)
		}
		b.Release()
	}
	out.report = src.Report()
	records := len(out.rows["raw.messages"]) + len(out.rows["raw.usage"])
	for _, r := range out.rows["raw.sessions"] {
		if r["missing"] == false {
			records++
		}
	}
	if int64(records) != out.report.Records {
		t.Errorf("%d records, reported %d", records, out.report.Records)
	}
	if left, _ := os.ReadDir(scratch); len(left) > 0 {
		t.Errorf("left in scratch: %v", left)
	}
	return out
}

func valueAt(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.String:
		return strings.Clone(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case *array.Boolean:
		return a.Value(i)
	case *array.Timestamp:
		return a.Value(i).ToTime(arrow.Microsecond).Format("2006-01-02T15:04:05.999999")
	}
	panic(a.DataType())
}

// issues lists the issues by code, table, line and value.
func (o told) issues() []string {
	var out []string
	for _, r := range o.rows["raw.issues"] {
		s := fmt.Sprint(r["code"])
		for _, k := range []string{"source_table", "source_line", "value"} {
			if v, ok := r[k]; ok {
				s += fmt.Sprint(" ", v)
			}
		}
		out = append(out, s)
	}
	return out
}

func (o told) column(table, column string) []any {
	var out []any
	for _, r := range o.rows[table] {
		out = append(out, r[column])
	}
	return out
}

func tellScript(t *testing.T, script string) told {
	t.Helper()
	return tell(t, databaseFile(filepath.Join(sqliteShell(t, script), "w.db")))
}

// schema16 is a fresh database of schema version 16.
const schema16 = `CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
INSERT INTO schema_version(version) VALUES (16);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '', user_set_name BOOLEAN DEFAULT FALSE,
 session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
 extension_data TEXT DEFAULT '{}', total_tokens INTEGER, input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER,
 accumulated_total_tokens INTEGER, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER, accumulated_cache_read_tokens INTEGER, accumulated_cache_write_tokens INTEGER,
 accumulated_cost REAL, schedule_id TEXT, recipe_json TEXT, user_recipe_values_json TEXT, provider_name TEXT, model_config_json TEXT, goose_mode TEXT NOT NULL DEFAULT 'auto',
 archived_at TIMESTAMP, project_id TEXT, parent_session_id TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL, role TEXT NOT NULL, content_json TEXT NOT NULL,
 created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT);
CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, created_timestamp INTEGER NOT NULL, model TEXT, input_tokens INTEGER,
 output_tokens INTEGER, total_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER, cost REAL, cost_source TEXT, is_compaction INTEGER DEFAULT 0);
CREATE INDEX idx_messages_session ON messages(session_id);
CREATE INDEX idx_messages_message_id ON messages(message_id);
`

func TestSessionsDBFresh(t *testing.T) {
	got := tellScript(t, schema16+`
INSERT INTO sessions(id, name, user_set_name, working_dir, created_at, updated_at, total_tokens, input_tokens, output_tokens, accumulated_cost, provider_name, model_config_json, archived_at)
 VALUES ('20260101_1', 'one', 1, '/w', '2026-01-01 10:00:00', '2026-01-01T10:00:01.5+00:00', 12, 10, 2, 0.25, 'openai', '{"model_name":"m"}', '2026-01-02T00:00:00Z'),
 ('20260101_2', '', 0, '', '2026-01-01 11:00:00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO messages(message_id, session_id, role, content_json, created_timestamp, timestamp, metadata_json) VALUES
 ('m1', '20260101_1', 'user', '[{"type":"text","text":"hi"}]', 1767261600, '2026-01-01 10:00:00', '{}'),
 ('m2', '20260101_2', 'user', '[]', 1767261600123, '2026-01-01 10:00:00', NULL),
 ('', '20260101_1', 'assistant', '', 1767261600, NULL, '');
INSERT INTO usage_ledger(session_id, created_timestamp, model, input_tokens, cost, cost_source, is_compaction) VALUES ('gone', 1767261600, 'm', -5, 1, 'estimated', 1);
DELETE FROM sqlite_sequence WHERE name='messages'; INSERT INTO sqlite_sequence VALUES('messages', 9);
`)
	want := map[string][]row{
		"raw.sessions": {
			{"ordinal": int64(0), "missing": false, "row_id": int64(1), "session_id": "20260101_1", "name": "one", "description": "", "user_set_name": true,
				"session_type": "user", "working_dir": "/w", "created_at": "2026-01-01T10:00:00", "created_at_text": "2026-01-01 10:00:00",
				"updated_at": "2026-01-01T10:00:01.5", "archived_at": "2026-01-02T00:00:00", "archived_at_text": "2026-01-02T00:00:00Z", "provider_name": "openai",
				"model_config_json": `{"model_name":"m"}`, "goose_mode": "auto", "extension_data": "{}", "input_tokens": int64(10), "output_tokens": int64(2),
				"total_tokens": int64(12), "accumulated_cost": 0.25},
			{"ordinal": int64(1), "missing": false, "row_id": int64(2), "session_id": "20260101_2", "name": "", "description": "", "user_set_name": false,
				"session_type": "user", "working_dir": "", "created_at": "2026-01-01T11:00:00", "created_at_text": "2026-01-01 11:00:00",
				"goose_mode": "auto", "extension_data": "{}"},
		},
		"raw.messages": {
			{"session": int64(0), "source_table": "messages", "row_id": int64(1), "message_id": "m1", "role": "user", "content_json": `[{"type":"text","text":"hi"}]`,
				"created_at": "2026-01-01T10:00:00", "stored_at": "2026-01-01T10:00:00", "metadata_json": "{}"},
			{"session": int64(0), "source_table": "messages", "row_id": int64(3), "message_id": "", "role": "assistant", "content_json": "",
				"created_at": "2026-01-01T10:00:00", "metadata_json": ""},
			{"session": int64(1), "source_table": "messages", "row_id": int64(2), "message_id": "m2", "role": "user", "content_json": "[]",
				"created_at": "2026-01-01T10:00:00.123", "created_ms": int64(1767261600123), "stored_at": "2026-01-01T10:00:00"},
		},
		"raw.usage": {
			{"row_id": int64(1), "session_id": "gone", "created_at": "2026-01-01T10:00:00", "model": "m", "input_tokens": int64(-5), "cost": 1.0, "cost_source": "estimated", "is_compaction": true},
		},
	}
	for table, rows := range want {
		if diff := cmp.Diff(rows, got.rows[table]); diff != "" {
			t.Errorf("%s:\n%s", table, diff)
		}
	}
	if want := []string{"db_tables", "raw.sessions", "raw.messages", "raw.usage"}; !slices.Equal(got.order, want) {
		t.Errorf("order %v", got.order)
	}
	for _, r := range got.rows["db_tables"] {
		if r["table_name"] != "messages" {
			continue
		}
		if r["rows"] != int64(3) || r["min_row_id"] != int64(1) || r["max_row_id"] != int64(3) || r["autoincrement_high"] != int64(9) ||
			!strings.HasPrefix(r["columns"].(string), `[{"name":"id","type":"INTEGER","notnull":false,"default":null,"pk":1},{"name":"message_id",`) ||
			!strings.Contains(r["columns"].(string), `"default":"CURRENT_TIMESTAMP","pk":0}`) {
			t.Errorf("db_tables: %v", r)
		}
	}
	if got := got.column("db_tables", "table_name"); len(got) != 5 {
		t.Errorf("tables %v", got)
	}
	r := got.report
	if r.Status != Read || r.Note != "" || r.SchemaVersion != (values.Int{V: 16, OK: true}) || r.Integrity != "ok" || len(r.SHA256) != 64 || r.Size == 0 {
		t.Errorf("%+v", r)
	}
}

// A database that was migrated from version 1 has its columns in another
// order and its title in description; forks have columns of their own.
func TestSessionsDBOtherColumns(t *testing.T) {
	got := tellScript(t, `CREATE TABLE Sessions (ID TEXT PRIMARY KEY, DESCRIPTION TEXT, working_dir TEXT, created_at TIMESTAMP, thread_id TEXT, name TEXT,
 tenant_id INTEGER, weight REAL, note TEXT, raw BLOB, computed AS (id || '!'), kept AS (id || '?') STORED, inf REAL);
INSERT INTO sessions VALUES ('a', 'title', '/w', 1767261600, NULL, NULL, 7, 1.5, 'tab	"q"\' || char(10, 1, 127), x'41ff', 1e999),
 ('b', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE messages (session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER, tokens INTEGER, metadata_json TEXT, message_id TEXT, id INTEGER PRIMARY KEY);
INSERT INTO messages VALUES ('a', 'user', '[]', 1767261600, NULL, NULL, NULL, 5), ('a', 'user', '[]', 1767261601, 12, NULL, NULL, 4);
`)
	want := []row{
		{"ordinal": int64(0), "missing": false, "row_id": int64(1), "session_id": "a", "description": "title", "working_dir": "/w",
			"created_at": "2026-01-01T10:00:00", "created_at_text": "1767261600",
			"extra": `{"tenant_id":7,"weight":1.5,"note":"tab\t\"q\"\\\n\u0001` + "\x7f" + `","raw":"A` + "\uFFFD" + `","kept":"a?","inf":"Inf"}`},
		{"ordinal": int64(1), "missing": false, "row_id": int64(2), "session_id": "b", "extra": `{"kept":"b?"}`},
	}
	if diff := cmp.Diff(want, got.rows["raw.sessions"]); diff != "" {
		t.Error(diff)
	}
	if ids := got.column("raw.messages", "row_id"); !slices.Equal(ids, []any{int64(4), int64(5)}) {
		t.Errorf("ids %v", ids)
	}
	if extra := got.column("raw.messages", "extra"); !slices.Equal(extra, []any{`{"tokens":12}`, nil}) {
		t.Errorf("extra %v", extra)
	}
	if want := []string{"invalid_utf8 sessions 1 A\uFFFD"}; !slices.Equal(got.issues(), want) {
		t.Errorf("issues %v", got.issues())
	}
	if got.report.Status != Read || got.report.SchemaVersion.OK {
		t.Errorf("%+v", got.report)
	}
}

// Two databases call themselves version 17.
func TestSessionsDBBoth17(t *testing.T) {
	for column, want := range map[string]string{
		"parent_delegation TEXT DEFAULT '{\"execution_mode\":\"x\"}'": `{"parent_delegation":"{\"execution_mode\":\"x\"}"}`,
		"container_id TEXT DEFAULT 'c'":                               `{"container_id":"c"}`,
	} {
		got := tellScript(t, schema16+"INSERT INTO schema_version(version) VALUES (17); INSERT INTO sessions(id, working_dir) VALUES ('a', ''); ALTER TABLE sessions ADD COLUMN "+column+";")
		if extra := got.column("raw.sessions", "extra"); !slices.Equal(extra, []any{want}) || got.report.SchemaVersion.V != 17 {
			t.Errorf("extra %v, %+v", extra, got.report)
		}
	}
}

func TestSessionsDBValues(t *testing.T) {
	// Columns without a type, so that every storage class stays what it is.
	got := tellScript(t, `CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY, session_id, created_timestamp, model, input_tokens, cost, is_compaction);
CREATE TABLE sessions (id);
INSERT INTO usage_ledger VALUES
 (1, 5, 1767261600, 1.5, 9223372036854775807, 1, 2),
 (2, x'6162', 1767261600.25, x'00', -9223372036854775808, '1.5e-3', 0),
 (3, 'c', '2026-01-01T10:00:00Z', 'm' || char(0) || 'n', 12.0, x'32', 'TRUE'),
 (4, 'd', '1767261600', CAST(x'61ff62' AS TEXT), 12.5, 'free', 'False'),
 (5, 'e', 0, '', '12', 1e999, '1'),
 (6, 'f', -1, NULL, '12 ', '0x10', '0'),
 (7, 'g', 946684799, NULL, 9223372036854775808, '', 'yes'),
 (8, 'h', 946684800, NULL, x'3132', 'nan', 0.5),
 (9, 'i', 4102444799, NULL, x'ff', '1_0', 1.0),
 (10, 'j', 4102444800, NULL, '', '-1', x'31'),
 (11, 'k', 10000000000, NULL, '+5', '1e400', ''),
 (12, 'l', NULL, NULL, NULL, NULL, NULL);
`)
	type cells struct {
		session, at, model, input, cost, compaction, extra any
	}
	var have []cells
	for _, r := range got.rows["raw.usage"] {
		have = append(have, cells{r["session_id"], r["created_at"], r["model"], r["input_tokens"], r["cost"], r["is_compaction"], r["extra"]})
	}
	i := func(n int64) any { return n }
	want := []cells{
		{"5", "2026-01-01T10:00:00", "1.5", i(9223372036854775807), 1.0, true, nil},
		{"ab", "2026-01-01T10:00:00.25", "\x00", i(-9223372036854775808), 0.0015, false, nil},
		{"c", "2026-01-01T10:00:00", "m\x00n", i(12), 2.0, true, nil},
		{"d", nil, "a\uFFFDb", nil, nil, false, `{"input_tokens":"12.5","cost_usd":"free"}`},
		{"e", nil, "", i(12), nil, true, `{"cost_usd":"Inf"}`},
		{"f", nil, nil, nil, nil, false, `{"input_tokens":"12 ","cost_usd":"0x10"}`},
		{"g", nil, nil, nil, nil, nil, `{"input_tokens":"9.223372036854776e+18","cost_usd":"","is_compaction":"yes"}`},
		{"h", "2000-01-01T00:00:00", nil, i(12), nil, nil, `{"cost_usd":"nan","is_compaction":"0.5"}`},
		{"i", "2099-12-31T23:59:59", nil, nil, nil, true, `{"input_tokens":"` + "\uFFFD" + `","cost_usd":"1_0"}`},
		{"j", nil, nil, nil, -1.0, true, `{"input_tokens":""}`},
		{"k", nil, nil, i(5), nil, nil, `{"cost_usd":"1e400","is_compaction":""}`},
		{"l", nil, nil, nil, nil, nil, nil},
	}
	if diff := cmp.Diff(want, have, cmp.AllowUnexported(cells{})); diff != "" {
		t.Error(diff)
	}
	wantIssues := []string{
		"bad_time usage_ledger 4 1767261600", "invalid_utf8 usage_ledger 4 a\uFFFDb", "bad_number usage_ledger 4 12.5", "bad_number usage_ledger 4 free",
		"bad_time usage_ledger 5 0", "bad_number usage_ledger 5 Inf",
		"bad_time usage_ledger 6 -1", "bad_number usage_ledger 6 12 ", "bad_number usage_ledger 6 0x10",
		"bad_time usage_ledger 7 946684799", "bad_number usage_ledger 7 9.223372036854776e+18", "bad_number usage_ledger 7 ", "bad_number usage_ledger 7 yes",
		"bad_number usage_ledger 8 nan", "bad_number usage_ledger 8 0.5",
		"bad_number usage_ledger 9 \uFFFD", "bad_number usage_ledger 9 1_0",
		"bad_time usage_ledger 10 4102444800", "bad_number usage_ledger 10 ",
		"bad_time usage_ledger 11 10000000000", "bad_number usage_ledger 11 1e400", "bad_number usage_ledger 11 ",
	}
	if diff := cmp.Diff(wantIssues, got.issues()); diff != "" {
		t.Error(diff)
	}
	if got.report.Status != Read {
		t.Errorf("bad values alone make it %+v", got.report)
	}
}

// The keys of extra are columns of the warehouse.
func TestSessionsDBBadSession(t *testing.T) {
	got := tellScript(t, `CREATE TABLE sessions (id, user_set_name, created_at, archived_at, input_tokens, accumulated_cost);
INSERT INTO sessions VALUES ('a', 'maybe', 'soon', 'later', 'x', 'y');`)
	want := []row{{"ordinal": int64(0), "missing": false, "row_id": int64(1), "session_id": "a", "created_at_text": "soon", "archived_at_text": "later",
		"extra": `{"user_set_name":"maybe","last_call_input_tokens":"x","accumulated_cost_usd":"y"}`}}
	if diff := cmp.Diff(want, got.rows["raw.sessions"]); diff != "" {
		t.Error(diff)
	}
	for table, fields := range map[*schemas.Table][]field{schemas.Sessions: sessionFields, schemas.Usage: usageFields} {
		for _, f := range fields {
			if f.extra != "" && table.Index(f.extra) < 0 {
				t.Errorf("%s has no column %s", table.Name, f.extra)
			}
		}
	}
}

// Sessions by rowid, messages by id; then what has no session, by lowest id;
// thread messages after the messages of their session.
func TestSessionsDBOrder(t *testing.T) {
	got := tellScript(t, schema16+`
ALTER TABLE sessions ADD COLUMN thread_id TEXT;
CREATE TABLE thread_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, thread_id TEXT NOT NULL, session_id TEXT, message_id TEXT, role TEXT NOT NULL, content_json TEXT NOT NULL,
 created_timestamp INTEGER NOT NULL, metadata_json TEXT DEFAULT '{}');
INSERT INTO sessions(rowid, id, working_dir, thread_id) VALUES (9, 's9', '', 't1'), (3, 's3', '', 't1'), (5, 's5', '', 't2');
INSERT INTO messages(id, session_id, role, content_json, created_timestamp) VALUES
 (1, 'gone2', '', '', 1), (2, 's9', '', '', 3), (3, 'gone1', '', '', 1), (4, 's3', '', '', 1), (5, 's9', '', '', 2), (6, 'gone2', '', '', 1), (7, 's9', '', '', 1);
INSERT INTO thread_messages(id, thread_id, session_id, role, content_json, created_timestamp) VALUES
 (1, 't2', NULL, '', '', 1767261600), (2, 't1', NULL, '', '', 1), (3, 't1', 's9', '', '', 1), (4, 't9', NULL, '', '', 1), (5, 't9', 'gone1', '', '', 1), (6, 't8', 'gone3', '', '', 1), (7, 't2', '', '', '', 1);
`)
	var have []string
	names := got.column("raw.sessions", "session_id")
	for _, r := range got.rows["raw.messages"] {
		have = append(have, fmt.Sprint(names[r["session"].(int64)], " ", r["source_table"], " ", r["row_id"], " ", r["extra"]))
	}
	want := []string{
		"s3 messages 4 <nil>", `s3 thread_messages 2 {"thread_id":"t1"}`,
		`s5 thread_messages 1 {"thread_id":"t2"}`, `s5 thread_messages 7 {"thread_id":"t2"}`,
		"s9 messages 2 <nil>", "s9 messages 5 <nil>", "s9 messages 7 <nil>", `s9 thread_messages 3 {"thread_id":"t1"}`,
		"gone2 messages 1 <nil>", "gone2 messages 6 <nil>",
		"gone1 messages 3 <nil>", `gone1 thread_messages 5 {"thread_id":"t9"}`,
		`t9 thread_messages 4 {"thread_id":"t9"}`, `gone3 thread_messages 6 {"thread_id":"t8"}`,
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
	if missing := got.column("raw.sessions", "missing"); !slices.Equal(missing, []any{false, false, false, true, true, true, true}) {
		t.Errorf("missing %v", missing)
	}
	if created := got.rows["raw.messages"][2]["created_at"]; created != "2026-01-01T10:00:00" {
		t.Errorf("thread message at %v", created)
	}
}

// A session and messages without an id belong together; ids are compared as
// stored, and told as text.
func TestSessionsDBOddIDs(t *testing.T) {
	got := tellScript(t, `CREATE TABLE sessions (id, name);
CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role);
INSERT INTO sessions VALUES (NULL, 'none'), (7, 'seven'), (CAST(x'ff' AS TEXT), 'bytes'), ('twice', 'first'), ('twice', 'second'), ('', 'empty');
INSERT INTO messages VALUES (1, NULL, ''), (2, '7', ''), (3, x'ff', ''), (4, 'twice', ''), (5, '', ''), (6, 7.0, '');
`)
	var have []string
	for _, r := range got.rows["raw.messages"] {
		have = append(have, fmt.Sprint(r["row_id"], " ", got.rows["raw.sessions"][r["session"].(int64)]["name"]))
	}
	if want := []string{"1 none", "2 seven", "3 bytes", "4 first", "5 empty", "6 <nil>"}; !slices.Equal(have, want) {
		t.Errorf("%q", have)
	}
	if ids := got.column("raw.sessions", "session_id"); !slices.Equal(ids, []any{nil, "7", "\uFFFD", "twice", "twice", "", "7.0"}) {
		t.Errorf("%q", ids)
	}
}

// Chunks of sessions: none of 512 comes before its session or twice.
func TestSessionsDBChunks(t *testing.T) {
	for _, n := range []int{511, 512, 513, 1025} {
		got := tellScript(t, schema16+fmt.Sprintf(`
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<%d) INSERT INTO sessions(id, working_dir) SELECT 's'||i, '' FROM c;
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<3*%[1]d) INSERT INTO messages(session_id, role, content_json, created_timestamp) SELECT 's'||(1+i%%(%[1]d+2)), '', '', 1 FROM c;
`, n))
		if s, m := len(got.rows["raw.sessions"]), len(got.rows["raw.messages"]); s != n+2 || m != 3*n {
			t.Errorf("%d sessions, %d messages of %d", s, m, n)
		}
		ids := map[any]bool{}
		last := row{"session": int64(0), "row_id": int64(0)}
		for _, r := range got.rows["raw.messages"] {
			ids[r["row_id"]] = true
			if r["session"] == last["session"] && r["row_id"].(int64) <= last["row_id"].(int64) || r["session"].(int64) < last["session"].(int64) {
				t.Errorf("%v comes after %v", r, last)
			}
			last = r
		}
		if len(ids) != 3*n {
			t.Errorf("%d messages of %d", len(ids), 3*n)
		}
		batches := 0
		for _, name := range got.order {
			if name == "raw.sessions" {
				batches++
			}
		}
		if want := (n + 2 + 511) / 512; batches != want {
			t.Errorf("%d batches of sessions, want %d", batches, want)
		}
	}
}

// A batch of sessions that is full before its chunk ends is followed by its
// messages all the same, whether rows or sessions without a row fill it.
func TestSessionsDBLargeSessions(t *testing.T) {
	for _, tc := range []struct {
		sessions, bytes, missing, id, batches int
	}{
		{4, batch.MaxBytes / 8, 0, 10, 1},
		{4, batch.MaxBytes/4 - 100, 0, 10, 1},
		{4, batch.MaxBytes / 4, 0, 10, 1}, // full with the last
		{5, batch.MaxBytes / 4, 0, 10, 2}, // and before it
		{100, batch.MaxBytes / 10, 0, 10, 10},
		{3, 2 * batch.MaxBytes, 0, 10, 3},
		{2, batch.MaxBytes / 2, 3, 10, 2}, // full with the last row: those without follow
		{2, 10, 9, batch.MaxBytes / 4, 3},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			got := tellScript(t, schema16+fmt.Sprintf(`
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<%d) INSERT INTO sessions(id, working_dir, extension_data) SELECT 's'||i, '', replace(hex(zeroblob(%d)),'0','x') FROM c;
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<%[1]d) INSERT INTO messages(session_id, role, content_json, created_timestamp) SELECT 's'||i, '', '', 1 FROM c;
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<%[3]d) INSERT INTO messages(session_id, role, content_json, created_timestamp) SELECT replace(hex(zeroblob(%[4]d)),'0','y')||i, '', '', 1 FROM c WHERE %[3]d>0;
`, tc.sessions, tc.bytes/2, tc.missing, tc.id/2))
			batches := 0
			for _, name := range got.order {
				if name == "raw.sessions" {
					batches++
				}
			}
			if s, m := len(got.rows["raw.sessions"]), len(got.rows["raw.messages"]); s != tc.sessions+tc.missing || m != s || batches != tc.batches {
				t.Errorf("%d sessions, %d messages, %d batches", s, m, batches)
			}
		})
	}
}

func TestSessionsDBCopies(t *testing.T) {
	dir := sqliteShell(t, schema16+`
INSERT INTO sessions(rowid, id, working_dir, created_at) VALUES
 (1, 'late', '', '2026-01-03 00:00:00'), (2, 'early', '', '2026-01-01T00:00:00Z'), (3, 'same', '', '2026-01-01 00:00:00'), (4, 'undated', '', 'never'), (5, 'undated2', '', NULL);
INSERT INTO messages(message_id, session_id, role, content_json, created_timestamp) VALUES
 ('gone1', 'gone', '', '', 5), ('gone1', 'gone2', '', '', 5),
 ('a', 'late', '', '', 1), ('a', 'early', '', '', 1), ('a', 'same', '', '', 1), ('a', 'undated', '', '', 1), ('a', 'undated2', '', '', 1), ('a', 'gone', '', '', 1),
 ('b', 'late', '', '', 1), ('b', 'early', '', '', 2), ('b', 'same', '', '', 1.0),
 ('c', 'undated2', '', '', 3), ('c', 'undated', '', '', 3), ('c', 'gone', '', '', 3),
 ('', 'late', '', '', 1), ('', 'early', '', '', 1), (NULL, 'late', '', '', 1), (NULL, 'early', '', '', 1),
 ('d', 'late', '', '', 1), ('d', 'late', '', '', 1), ('e', 'late', '', '', 1), ('e', 'late', '', '', 1), ('e', 'early', '', '', 1);
`)
	path := filepath.Join(dir, "w.db")
	got := tell(t, databaseFile(path))
	var have []string
	for _, r := range got.rows["raw.messages"] {
		if from, ok := r["copied_from_session_id"]; ok {
			have = append(have, fmt.Sprint(r["row_id"], " ", r["message_id"], " ", got.rows["raw.sessions"][r["session"].(int64)]["session_id"], " ", from))
		}
	}
	slices.Sort(have)
	// The rule in SQL, over the sessions in their order.
	out, err := exec.Command("sqlite3", "-batch", "-separator", " ", path, `
WITH s(id, n) AS (SELECT id, row_number() OVER (ORDER BY unixepoch(created_at) IS NULL, unixepoch(created_at), rowid) FROM sessions
 UNION ALL SELECT session_id, 1000 + min(id) FROM messages WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id)
SELECT m.id, m.message_id, m.session_id, (SELECT s2.id FROM messages m2 JOIN s s2 ON s2.id = m2.session_id
  WHERE m2.message_id = m.message_id AND m2.created_timestamp = m.created_timestamp AND s2.n < s1.n ORDER BY s2.n LIMIT 1) AS f
FROM messages m JOIN s s1 ON s1.id = m.session_id WHERE m.message_id <> '' AND f IS NOT NULL`).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" || len(have) < 10 {
		t.Error(diff)
	}
}

func TestSessionsDBNoTables(t *testing.T) {
	got := tellScript(t, "PRAGMA user_version=0; CREATE TABLE x(v); DROP TABLE x; VACUUM;")
	if r := got.report; r.Status != Read || r.Note != "no tables" || r.Records != 0 || got.issues() != nil || got.order != nil {
		t.Errorf("%+v %v %v", r, got.issues(), got.order)
	}
	got = tellScript(t, "CREATE TABLE other(v); INSERT INTO other VALUES(1);")
	if r := got.report; r.Status != Read || r.Note != "no tables" || !slices.Equal(got.issues(), []string{"no_tables"}) || len(got.rows["db_tables"]) != 1 {
		t.Errorf("%+v %v", r, got.issues())
	}
}

// A name is no table: what the database would run is not run.
func TestSessionsDBNotTables(t *testing.T) {
	got := tellScript(t, `CREATE TABLE x(id INTEGER PRIMARY KEY, session_id TEXT, content_json TEXT);
INSERT INTO x VALUES(1, 'a', 'b');
CREATE VIEW messages AS SELECT * FROM x;
CREATE TABLE sessions(id TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO sessions VALUES('a');
CREATE VIRTUAL TABLE usage_ledger USING fts5(id, session_id);
INSERT INTO usage_ledger VALUES(1, 'a');
`)
	want := []string{"bad_table", "bad_table", "bad_table", "no_tables"}
	if !slices.Equal(got.issues(), want) || got.report.Status != Partial || got.report.Records != 0 {
		t.Errorf("%v %+v", got.issues(), got.report)
	}
	for _, r := range got.rows["db_tables"] {
		if r["table_name"] == "messages" || r["table_name"] == "usage_ledger" && r["rows"] != nil || r["table_name"] == "sessions" && r["rows"] != int64(1) {
			t.Errorf("db_tables: %v", r)
		}
	}
}

func TestSessionsDBUTF16(t *testing.T) {
	got := tellScript(t, "PRAGMA encoding='UTF-16le';\n"+schema16+`
INSERT INTO sessions(id, name, working_dir) VALUES ('a', 'näme 🦆', '');
INSERT INTO messages(message_id, session_id, role, content_json, created_timestamp) VALUES ('m', 'a', 'user', '["ü"]', 1767261600);`)
	if names := got.column("raw.sessions", "name"); !slices.Equal(names, []any{"näme 🦆"}) {
		t.Errorf("%q", names)
	}
	if texts := got.column("raw.messages", "content_json"); !slices.Equal(texts, []any{`["ü"]`}) || got.rows["raw.messages"][0]["session"] != int64(0) {
		t.Errorf("%q", texts)
	}
}

func TestSessionsDBConfirmations(t *testing.T) {
	dir := sqliteShell(t, schema16+`
INSERT INTO sessions(id, working_dir) VALUES ('a', ''), ('b', '');
INSERT INTO messages(session_id, role, content_json, created_timestamp) VALUES
 ('a', '', '[{"actionType":"toolConfirmationResponse","id":"1"}]', 1), ('b', '', '["toolConfirmationResponse"]', 1), ('a', '', '["nothing"]', 1),
 ('a', '', '["tool\u0043onfirmationResponse"]', 1), ('a', '', x'22746f6f6c436f6e6669726d6174696f6e526573706f6e736522', 1);
`)
	src := NewSessionsDB(&Home{}, databaseFile(filepath.Join(dir, "w.db")), SourceOptions{Scratch: t.TempDir()})
	ask := func(ordinal int64) (out []string) {
		for s, err := range src.ConfirmationContents(t.Context(), ordinal) {
			if err != nil {
				return append(out, "error")
			}
			out = append(out, s)
		}
		return out
	}
	asked := 0
	for b, err := range src.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if schemas.NameOf(b.Schema()) == "raw.messages" {
			asked++
			want := []string{`[{"actionType":"toolConfirmationResponse","id":"1"}]`, `["tool\u0043onfirmationResponse"]`, `"toolConfirmationResponse"`}
			done := make(chan []string)
			go func() { done <- ask(0) }() // from any goroutine
			if diff := cmp.Diff(want, <-done); diff != "" {
				t.Error(diff)
			}
			if got := ask(1); !slices.Equal(got, []string{`["toolConfirmationResponse"]`}) {
				t.Errorf("%q", got)
			}
			for range src.ConfirmationContents(t.Context(), 0) {
				break
			}
			if got := ask(2); !slices.Equal(got, []string{"error"}) {
				t.Errorf("%q", got)
			}
		}
		b.Release()
	}
	if got := ask(0); asked != 1 || !slices.Equal(got, []string{"error"}) {
		t.Errorf("asked %d times; after the end %q", asked, got)
	}
}

func TestSessionsDBNotReadable(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.db")
	for name, c := range map[string]struct {
		bytes  string
		status Status
		issues []string
	}{
		"empty":     {"", Empty, nil},
		"text":      {strings.Repeat("no database ", 1000), Malformed, []string{"bad_file"}},
		"encrypted": {strings.Repeat("\x01\x8a\xf3", 4096), Malformed, []string{"bad_file"}},
	} {
		if err := os.WriteFile(path, []byte(c.bytes), 0o644); err != nil {
			t.Fatal(err)
		}
		got := tell(t, databaseFile(path))
		if got.report.Status != c.status || !slices.Equal(got.issues(), c.issues) || got.report.Integrity != "" {
			t.Errorf("%s: %+v %v", name, got.report, got.issues())
		}
	}
	got := tell(t, databaseFile(filepath.Join(dir, "none")))
	if got.report.Status != Unreadable || !slices.Equal(got.issues(), []string{"bad_file"}) {
		t.Errorf("%+v %v", got.report, got.issues())
	}
	f := databaseFile(path)
	f.Status, f.Note = SkippedSize, "too big"
	if got := tell(t, f); got.report.Status != SkippedSize || got.report.Note != "too big" || got.order != nil {
		t.Errorf("%+v", got.report)
	}
}

func TestSessionsDBPartial(t *testing.T) {
	wal := "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;\n" + schema16 +
		"INSERT INTO sessions(id, working_dir) VALUES ('a', '');\n.shell mkdir ev; cp w.db ev/x.db; cp w.db-wal ev/x.db-wal\n"
	t.Run("log alone", func(t *testing.T) {
		path := filepath.Join(sqliteShell(t, wal), "ev", "x.db")
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		got := tell(t, databaseFile(path))
		if got.report.Status != Partial || !slices.Equal(got.issues(), []string{"wal_without_database"}) || got.report.Records != 1 || got.report.Integrity != "ok" {
			t.Errorf("%+v %v", got.report, got.issues())
		}
	})
	t.Run("log not collected", func(t *testing.T) {
		path := filepath.Join(sqliteShell(t, wal), "ev", "x.db")
		f := databaseFile(path)
		f.WAL, f.WALMissing = nil, true
		got := tell(t, f)
		if got.report.Status != Partial || !slices.Equal(got.issues(), []string{"wal_not_collected"}) {
			t.Errorf("%+v %v", got.report, got.issues())
		}
	})
	t.Run("cut", func(t *testing.T) {
		f := databaseFile(filepath.Join(sqliteShell(t, schema16), "w.db"))
		f.Cut, f.Note = true, "unexpected end"
		got := tell(t, f)
		if got.report.Status != Partial || got.report.Note != "unexpected end; cut off in the archive" {
			t.Errorf("%+v", got.report)
		}
	})
	t.Run("log damaged", func(t *testing.T) {
		path := filepath.Join(sqliteShell(t, wal), "ev", "x.db")
		st, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path+"-wal", st.Size()-1); err != nil {
			t.Fatal(err)
		}
		got := tell(t, databaseFile(path))
		if got.report.Status != Partial || !slices.Equal(got.issues(), []string{"wal_damaged"}) || got.report.Records != 0 {
			t.Errorf("%+v %v", got.report, got.issues())
		}
	})
	t.Run("quick_check", func(t *testing.T) {
		got := tellScript(t, schema16+`PRAGMA writable_schema=ON;
INSERT INTO sessions(id, working_dir, project_id) VALUES ('a', '', NULL);
UPDATE sqlite_schema SET sql = replace(sql, 'project_id TEXT', 'project_id TEXT NOT NULL') WHERE name = 'sessions';
`)
		if got.report.Status != Partial || got.report.Integrity != "NULL value in sessions.project_id" || got.report.Records != 1 {
			t.Errorf("%+v", got.report)
		}
	})
}

// A damaged database: what can be read is, what cannot is accounted for.
func TestSessionsDBDamaged(t *testing.T) {
	dir := sqliteShell(t, "PRAGMA page_size=1024;\n"+schema16+`
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<200) INSERT INTO sessions(id, working_dir) SELECT 's'||i, hex(zeroblob(40)) FROM c;
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<2000) INSERT INTO messages(message_id, session_id, role, content_json, created_timestamp)
 SELECT 'm'||i, 's'||(1+i%200), '', hex(zeroblob(CASE WHEN i%20=0 THEN 1500 ELSE 60 END)), 1767261600 FROM c;
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<500) INSERT INTO usage_ledger(session_id, created_timestamp) SELECT 's1', 1767261600 FROM c;
`)
	whole, err := os.ReadFile(filepath.Join(dir, "w.db"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x.db")
	for page := 2; page <= len(whole)/1024; page += 1 + len(whole)/1024/40 {
		b := slices.Clone(whole)
		copy(b[(page-1)*1024:page*1024], make([]byte, 1024))
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		got := tell(t, databaseFile(path))
		for table, total := range map[string]int64{"sessions": 200, "messages": 2000, "usage_ledger": 500} {
			read := map[int64]bool{}
			for _, r := range slices.Concat(got.rows["raw.sessions"], got.rows["raw.messages"], got.rows["raw.usage"]) {
				_, isSession := r["ordinal"]
				_, isMessage := r["session"]
				is := map[bool]string{true: "sessions"}[isSession]
				if isMessage {
					is = "messages"
				} else if !isSession {
					is = "usage_ledger"
				}
				if id, ok := r["row_id"].(int64); ok && is == table {
					if read[id] {
						t.Errorf("page %d: row %d of %s twice", page, id, table)
					}
					read[id] = true
				}
			}
			gone := map[int64]bool{}
			for _, r := range got.rows["raw.issues"] {
				if r["code"] != "unreadable_rows" || r["source_table"] != table {
					continue
				}
				message := r["message"].(string)
				from, to := int64(-1), int64(0)
				if n, _ := fmt.Sscanf(message, "rows %d to %d", &from, &to); n == 2 {
				} else if n, _ := fmt.Sscanf(message, "rows from %d on", &from); n == 1 {
					to = total
				} else if n, _ := fmt.Sscanf(message, "rows up to %d", &to); n == 1 {
					from = 1
				} else if n, _ := fmt.Sscanf(message, "row %d ", &from); n == 1 {
					to = from
				} else {
					from, to = 1, total
				}
				for id := from; id <= to; id++ {
					gone[id] = true
				}
			}
			for id := int64(1); id <= total; id++ {
				if read[id] == gone[id] {
					t.Errorf("page %d: row %d of %s: read %v, unreadable %v", page, id, table, read[id], gone[id])
					break
				}
			}
		}
		if got.report.Records < 2700 && got.report.Status != Partial {
			t.Errorf("page %d: %+v", page, got.report)
		}
	}
}

// A schema that cannot be parsed is a file that cannot be read; where a part
// of it can be, its tables are read.
func TestSessionsDBCorruptSchema(t *testing.T) {
	got := tellScript(t, schema16+`INSERT INTO sessions(id, working_dir) VALUES ('a', '');
CREATE TABLE zz(v);
PRAGMA writable_schema=ON;
UPDATE sqlite_schema SET sql='CREATE TABLE zz(' WHERE name='zz';
`)
	if got.report.Status != Partial || got.report.Records != 1 || len(got.issues()) == 0 {
		t.Errorf("%+v %v", got.report, got.issues())
	}
	dir := sqliteShell(t, schema16)
	path := filepath.Join(dir, "w.db")
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 3996), 100); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if got := tell(t, databaseFile(path)); got.report.Status != Malformed || !slices.Equal(got.issues(), []string{"bad_file"}) {
		t.Errorf("%+v %v", got.report, got.issues())
	}
}

func TestSessionsDBCancelled(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := sqliteShell(t, schema16+`
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<2000) INSERT INTO sessions(id, working_dir) SELECT 's'||i, '' FROM c;`)
	for _, after := range []int{0, 1, 2} {
		mem := memory.NewCheckedAllocator(batchtest.Poison{})
		src := NewSessionsDB(&Home{}, databaseFile(filepath.Join(dir, "w.db")), SourceOptions{Mem: mem, Scratch: t.TempDir()})
		ctx, cancel := context.WithCancel(t.Context())
		n, failed := 0, error(nil)
		if after == 0 {
			cancel()
		}
		for b, err := range src.Records(ctx) {
			if err != nil {
				failed = err
				continue
			}
			b.Release()
			if n++; n == after {
				cancel()
			}
		}
		cancel()
		var e *fault.Error
		if !errors.As(failed, &e) || !errors.Is(failed, context.Canceled) {
			t.Errorf("after %d: %v", after, failed)
		}
		mem.AssertSize(t, 0)
	}
	// A consumer that wants no more.
	mem := memory.NewCheckedAllocator(batchtest.Poison{})
	src := NewSessionsDB(&Home{}, databaseFile(filepath.Join(dir, "w.db")), SourceOptions{Mem: mem, Scratch: t.TempDir()})
	for b := range src.Records(t.Context()) {
		b.Release()
		break
	}
	mem.AssertSize(t, 0)
}

func TestSessionsDBScratchFails(t *testing.T) {
	dir := sqliteShell(t, "PRAGMA journal_mode=WAL; CREATE TABLE x(v);\n.shell mkdir ev; cp w.db ev/x.db; cp w.db-wal ev/x.db-wal\n")
	path := filepath.Join(dir, "ev", "x.db")
	src := NewSessionsDB(&Home{ID: "h"}, databaseFile(path), SourceOptions{Scratch: filepath.Join(path, "none")})
	for _, err := range src.Records(t.Context()) {
		if fault.KindOf(err) != fault.Output || fault.HintOf(err) == "" {
			t.Errorf("%v", err)
		}
	}
}

// A message of 100 MB is held a few times, not more.
func TestSessionsDBHugeMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 100 MB")
	}
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	const size = 100 << 20
	for _, q := range []string{"CREATE TABLE sessions(id TEXT)", "CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id TEXT, content_json TEXT)",
		fmt.Sprintf("INSERT INTO messages VALUES(1, 'a', CAST(zeroblob(%d) AS TEXT)), (2, 'a', 'x')", size)} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	src := NewSessionsDB(&Home{}, databaseFile(path), SourceOptions{Scratch: t.TempDir()})
	var sizes []int
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b, err := range src.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if schemas.NameOf(b.Schema()) == "raw.messages" {
			texts := b.Column(schemas.RawMessages.Index("content_json")).(*array.String)
			for i := range texts.Len() {
				sizes = append(sizes, len(texts.Value(i)))
			}
		}
		b.Release()
	}
	runtime.ReadMemStats(&after)
	if !slices.Equal(sizes, []int{size, 1}) {
		t.Errorf("sizes %v", sizes)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 4*size {
		t.Errorf("%d MB allocated", got>>20)
	}
}

func BenchmarkSessionsDB(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		b.Fatal(err)
	}
	for _, q := range append(strings.Split(strings.TrimSpace(schema16), ";\n"), `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<300) INSERT INTO sessions(id, working_dir) SELECT 's'||i, '' FROM c`,
		`WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<20000) INSERT INTO messages(message_id, session_id, role, content_json, created_timestamp, metadata_json)
SELECT 'msg_'||i, 's'||(1+(i/60+i%2)%300), 'user', '[{"type":"text","text":"'||hex(randomblob(CASE WHEN i%50=0 THEN 50000 ELSE 1200 END))||'"}]', 1767225600+i, '{"userVisible":true}' FROM c`) {
		if _, err := db.Exec(q); err != nil {
			b.Fatal(q, err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(st.Size())
	b.ReportAllocs()
	scratch := b.TempDir()
	for b.Loop() {
		src := NewSessionsDB(&Home{}, databaseFile(path), SourceOptions{Scratch: scratch})
		for rec, err := range src.Records(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			rec.Release()
		}
	}
}
