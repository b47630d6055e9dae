package duckdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gander/load/duckdb/value"
	"gander/load/duckdb/views"
	"gander/schemas"
	"gander/schemas/fault"
)

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t
}

// Home ids that look like numbers and dates, in the order of their names.
const (
	homeDate   = "2024-01-01-00000001"
	homeNumber = "007-1e5-00000000"
	homePlain  = "host-alice-0a1b2c3d"
)

var deep = strings.Repeat(`[`, 500) + strings.Repeat(`{"a":`, 500) + `1` + strings.Repeat(`}`, 500) + strings.Repeat(`]`, 500)

// stored are JSON texts that must come back byte for byte.
var stored = []string{
	`{"a":1,"b":2,"a":3}`,
	deep,
	`{"n":` + strings.Repeat("9", 400) + `,"f":1.50,"e":1E+400,"z":-0}`,
	`{"nul":"a\u0000b","\u0000":"\u001f\ufffd"}`,
	"\"\uFFFD \u2028 \U0001F600 \x7f\"",
	`[]`, `""`, `null`, `0`,
}

func TestBuild(t *testing.T) {
	ctx := context.Background()
	// Characters that a glob, a hive path or SQL would take for its own.
	dir := filepath.Join(t.TempDir(), "it's [1]*?", "store=zz", "home_id=x")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	newWarehouse(t, dir)
	for i, home := range []string{homePlain, homeNumber, homeDate} {
		writeParquet(t, dir, home, schemas.Homes, "part-0.parquet", row{"host": fmt.Sprint("h", i), "user": "u"})
	}
	text := "NUL \x00 in \U0001F600 text"
	var rows []row
	for i, s := range stored {
		rows = append(rows, row{"event_seq": i, "text": text, "extra": s, "source_line": int64(math.MinInt64)})
	}
	writeParquet(t, dir, homeNumber, schemas.Events, "part-0.parquet", rows...)
	writeParquet(t, dir, homeNumber, schemas.Events, "part-1.parquet",
		row{"event_seq": 100, "text": "", "occurred_at": at("2025-03-30T00:59:59.999999Z"), "source_line": int64(math.MaxInt64), "is_error": false},
		row{"event_seq": 101, "occurred_at": at("2025-03-30T01:00:00Z")})
	writeParquet(t, dir, homeDate, schemas.Events, "part-0.parquet", row{"event_seq": 7})
	writeParquet(t, dir, homeDate, schemas.ToolCalls, "part-0.parquet",
		row{"error_codes": []int32{-32603, math.MaxInt32}}, row{"error_codes": nil})
	// What is not a file of the table is not read.
	for _, name := range []string{".part-2.parquet", "part-2.parquet.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, "parquet", "events", "home_id="+homeDate, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeRun(t, dir, "b.json", row{"run_id": "second", "started_at": "2026-10-03T18:55:31.5+02:00", "inputs": []string{"it's", "b"}, "homes": int64(math.MaxInt64)})
	writeRun(t, dir, "a.json", row{"run_id": "third", "started_at": "2026-10-04T00:00:00.000001", "from_a_later_release": row{"x": 1}})
	writeRun(t, dir, "c.json", row{"run_id": "first", "started_at": "2026-10-03T16:55:31Z", "exit_code": nil})

	if err := os.WriteFile(filepath.Join(dir, FileName), []byte("an old database"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, FileName+".wal"), []byte("an old log"), 0o644); err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	db := built(t, dir, Options{Scratch: scratch, MemoryLimit: "500MB", Threads: 2})

	t.Run("values", func(t *testing.T) {
		got := all(t, db, "SELECT home_id, event_seq, text, extra, occurred_at, source_line, is_error FROM events")
		want := [][]any{}
		for i, s := range stored {
			want = append(want, []any{homeNumber, int64(i), text, value.JSON(s), nil, int64(math.MinInt64), nil})
		}
		want = append(want,
			[]any{homeNumber, int64(100), "", nil, at("2025-03-30T00:59:59.999999Z"), int64(math.MaxInt64), false},
			[]any{homeNumber, int64(101), nil, nil, at("2025-03-30T01:00:00Z"), nil, nil},
			[]any{homeDate, int64(7), nil, nil, nil, nil, nil})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		got = all(t, db, "SELECT home_id, error_codes FROM tool_calls")
		want = [][]any{{homeDate, []any{int64(-32603), int64(math.MaxInt32)}}, {homeDate, nil}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("json is searchable", func(t *testing.T) {
		if got := one(t, db, "SELECT extra->>'$.b' FROM events WHERE event_seq = 0"); got != "2" {
			t.Errorf("extra.b = %s, want 2", got)
		}
	})

	t.Run("runs", func(t *testing.T) {
		got := all(t, db, "SELECT run_id, started_at, inputs, homes, exit_code FROM runs")
		want := [][]any{
			{"first", at("2026-10-03T16:55:31Z"), nil, nil, nil},
			{"second", at("2026-10-03T16:55:31.5Z"), value.JSON(`["it's","b"]`), int64(math.MaxInt64), nil},
			{"third", at("2026-10-04T00:00:00.000001Z"), nil, nil, nil},
		}
		// The array stands as the file has it: line breaks and all.
		if s, ok := got[1][2].(value.JSON); ok {
			got[1][2] = value.JSON(strings.Join(strings.Fields(string(s)), ""))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("schema", func(t *testing.T) {
		type column struct{ Table, Column, Type, Doc string }
		var want, got []column
		add := func(table string, columns []schemas.Column) {
			for _, c := range columns {
				want = append(want, column{table, c.Name, c.Kind.SQL(), c.Doc})
			}
		}
		for _, table := range schemas.Tables() {
			want = append(want, column{table.Name, "home_id", "VARCHAR", schemas.HomeIDDoc})
			add(table.Name, table.Columns)
		}
		add(schemas.Runs.Name, schemas.Runs.Columns)
		for _, v := range views.Views() {
			for _, c := range v.Columns {
				want = append(want, column{v.Name, c.Name, c.Type, c.Doc})
			}
		}
		for _, name := range Relations() {
			for _, r := range all(t, db, "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", name) {
				got = append(got, column{r[0].(string), r[1].(string), r[2].(string), fmt.Sprint(r[3])})
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for _, table := range append(schemas.Tables(), schemas.Runs) {
			if got := one(t, db, "SELECT comment FROM duckdb_tables() WHERE table_name = ?", table.Name); got != table.Doc {
				t.Errorf("comment of %s: %s", table.Name, got)
			}
		}
		for _, v := range views.Views() {
			if got := one(t, db, "SELECT comment FROM duckdb_views() WHERE view_name = ?", v.Name); got != v.Doc {
				t.Errorf("comment of %s: %s", v.Name, got)
			}
		}
	})

	t.Run("relations", func(t *testing.T) {
		for _, name := range Relations() {
			rows, err := db.Relation(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range rows.All() {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if _, err := db.Relation(ctx, "duckdb_settings"); fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "timeline") {
			t.Errorf("Relation(duckdb_settings) = %v", err)
		}
	})

	t.Run("files", func(t *testing.T) {
		info, err := os.Stat(filepath.Join(dir, FileName))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("mode of the database is %v", info.Mode())
		}
		for _, d := range []string{dir, scratch} {
			entries, err := os.ReadDir(d)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if n := e.Name(); n != "parquet" && n != "runs" && n != FileName {
					t.Errorf("%s was left in %s", n, d)
				}
			}
		}
	})

	t.Run("again", func(t *testing.T) {
		// A reader keeps the database it has; the next one sees the new one.
		writeParquet(t, dir, homePlain, schemas.Events, "part-0.parquet", row{"event_seq": 1})
		before := one(t, db, "SELECT count(*) FROM events")
		after := one(t, built(t, dir, Options{Scratch: scratch}), "SELECT count(*) FROM events")
		if still := one(t, db, "SELECT count(*) FROM events"); before != "12" || still != before || after != "13" {
			t.Errorf("events: %s, then %s, rebuilt %s; want 12, 12, 13", before, still, after)
		}
	})
}

func TestBuildKeepsOrder(t *testing.T) {
	dir := t.TempDir()
	newWarehouse(t, dir)
	const perFile = 30_000
	for h := range 3 {
		for f := range 3 {
			home := fmt.Sprintf("home-%d", h)
			writeParquet(t, dir, home, schemas.Homes, "part-0.parquet", row{"host": "h", "user": "u"})
			rows := make([]row, perFile)
			for i := range rows {
				rows[i] = row{"source_line": (h*3+f)*perFile + i, "text": strings.Repeat("x", i%50)}
			}
			writeParquet(t, dir, home, schemas.Events, fmt.Sprintf("part-%d.parquet", f), rows...)
		}
	}
	db := built(t, dir, Options{Threads: 4})
	for _, relation := range []string{"events", "timeline"} {
		rows, err := db.Relation(context.Background(), relation)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for r, err := range rows.All() {
			if err != nil {
				t.Fatal(err)
			}
			if line := r[len(r)-1]; line != int64(n) {
				t.Fatalf("%s: row %d is of line %v", relation, n, line)
			}
			n++
		}
		if n != 9*perFile {
			t.Errorf("%s has %d rows, want %d", relation, n, 9*perFile)
		}
	}
}

func TestBuildFails(t *testing.T) {
	old := []byte("the old database")
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir string)
		want  string
	}{
		{"a file that is no Parquet", func(t *testing.T, dir string) {
			path := filepath.Join(dir, "parquet", "usage", "home_id=h")
			if err := errors.Join(os.MkdirAll(path, 0o700), os.WriteFile(filepath.Join(path, "a.parquet"), []byte("no"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}, "table usage"},
		{"JSON that is none", func(t *testing.T, dir string) {
			writeParquet(t, dir, "h", schemas.Usage, "a.parquet", row{"extra": `{"a":`})
		}, "Malformed JSON"},
		{"a run that is no object", func(t *testing.T, dir string) { writeRun(t, dir, "a.json", []int{1}) }, "a.json"},
		{"a run with a wrong type", func(t *testing.T, dir string) { writeRun(t, dir, "a.json", row{"homes": 1.5}) }, "homes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			newWarehouse(t, dir)
			if err := os.WriteFile(filepath.Join(dir, FileName), old, 0o600); err != nil {
				t.Fatal(err)
			}
			tt.spoil(t, dir)
			err := Build(context.Background(), dir, Options{})
			if fault.KindOf(err) != fault.Output || fault.HintOf(err) == "" || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("Build = %v (kind %d, hint %q), want %q", err, fault.KindOf(err), fault.HintOf(err), tt.want)
			}
			if got, err := os.ReadFile(filepath.Join(dir, FileName)); err != nil || string(got) != string(old) {
				t.Errorf("the old database is %q, %v", got, err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".duckdb-*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}

	t.Run("a path that DuckDB cannot write to", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "what?")
		newWarehouse(t, dir)
		if err := Build(context.Background(), dir, Options{}); !strings.Contains(fmt.Sprint(err), "question mark") {
			t.Errorf("Build = %v", err)
		}
	})

	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		dir := t.TempDir()
		newWarehouse(t, dir)
		if err := Build(ctx, dir, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("Build = %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, FileName)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("there is a database: %v", err)
		}
	})
}

// A value that needs more memory than the first limit is loaded all the same.
func TestBuildLargeValue(t *testing.T) {
	if testing.Short() {
		t.Skip("loads a value of 80 MB")
	}
	ctx := context.Background()
	dir := t.TempDir()
	arguments := `"` + strings.Repeat("x", 80<<20) + `"`
	writeParquet(t, dir, "h", schemas.ToolCalls, "a.parquet", row{"arguments": arguments})
	err := Build(ctx, dir, Options{MemoryLimit: memorySteps[0]})
	if err == nil || !outOfMemory(err) || !strings.Contains(fault.HintOf(err), "--memory-limit") {
		t.Errorf("a limit that was given holds: %v (hint %q)", err, fault.HintOf(err))
	}
	if err := Build(ctx, dir, Options{}); err != nil {
		t.Fatal(err)
	}
	db, err := Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(ctx, "SELECT strlen(CAST(arguments AS VARCHAR)) FROM tool_calls")
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range rows.All() {
		if err != nil || r[0] != int64(len(arguments)) {
			t.Errorf("%v, %v", r, err)
		}
	}
}
