package duckdb

import (
	"context"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gander/load/duckdb/value"
	"gander/schemas"
	"gander/schemas/fault"
)

// A query reaches nothing but the database, whether or not the check of the
// statement's type lets it through.
func TestSealed(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	newWarehouse(t, dir)
	writeParquet(t, dir, "h", schemas.Events, "a.parquet", row{"event_seq": 1})
	if err := os.WriteFile(filepath.Join(outside, "secret.csv"), []byte("a\nsecret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	newWarehouse(t, other)
	if err := Build(context.Background(), other, Options{}); err != nil {
		t.Fatal(err)
	}
	parquet, err := filepath.Glob(filepath.Join(dir, "parquet", "events", "home_id=h", "*.parquet"))
	if err != nil || len(parquet) != 1 {
		t.Fatal(parquet, err)
	}
	db := built(t, dir, Options{})
	before := tree(t, dir, outside, other)

	secret := quoteText(filepath.Join(outside, "secret.csv"))
	elsewhere := quoteText(filepath.Join(other, FileName))
	target := quoteText(filepath.Join(outside, "new"))
	const ( // who refuses, as the message says
		access = "disabled"
		locked = "locked"
		ro     = "read-only"
		absent = "does not exist"
		reads  = "only statements that read"
	)
	tests := []struct{ name, sql, sealed, query string }{
		{"COPY TO", "COPY events TO " + target, access, access},
		{"COPY TO stdout", "COPY events TO '/dev/stdout'", access, access},
		{"COPY FROM", "COPY events FROM " + secret, access, access},
		{"EXPORT DATABASE", "EXPORT DATABASE " + target, access, access},
		{"IMPORT DATABASE", "IMPORT DATABASE " + target, access, access},
		{"EXPLAIN ANALYZE of a COPY", "EXPLAIN ANALYZE COPY events TO " + target, access, access},
		{"read_text", "FROM read_text(" + secret + ")", access, access},
		{"read_blob", "FROM read_blob(" + secret + ")", access, access},
		{"read_csv", "FROM read_csv(" + secret + ")", access, access},
		{"sniff_csv", "FROM sniff_csv(" + secret + ")", access, access},
		{"read_json", "FROM read_json(" + secret + ")", access, access},
		{"read_parquet", "FROM read_parquet(" + quoteText(parquet[0]) + ")", access, access},
		{"parquet_metadata", "FROM parquet_metadata(" + quoteText(parquet[0]) + ")", access, access},
		{"read_duckdb", "FROM read_duckdb(" + elsewhere + ", table_name = 'events')", access, access},
		{"glob", "FROM glob(" + quoteText(outside+"/*") + ")", access, access},
		{"a path as a table", "FROM " + secret, access, access},
		{"a path in query()", "FROM query('FROM read_text(''' || " + secret + " || ''')')", access, "is refused"},
		{"a path in serialized SQL", "FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''" + filepath.Join(outside, "secret.csv") + "'')'))", access, "is refused"},
		{"getenv", "SELECT getenv('HOME')", absent, absent},
		{"ATTACH", "ATTACH " + elsewhere + " AS other", access, reads},
		{"ATTACH memory", "ATTACH ':memory:' AS m", ro, reads},
		{"INSTALL", "INSTALL httpfs", access, reads},
		{"LOAD", "LOAD httpfs", access, reads},
		{"LOAD of a file", "LOAD " + target, access, reads},
		{"UPDATE EXTENSIONS", "UPDATE EXTENSIONS", access, reads},
		{"CREATE SECRET", "CREATE SECRET (TYPE http, bearer_token 'x')", access, ""},
		{"SET", "SET threads = 1", locked, reads},
		{"SET to unlock", "SET lock_configuration = false", locked, reads},
		{"SET to open", "SET enable_external_access = true", locked, reads},
		{"SET temp_directory", "SET temp_directory = " + target, locked, reads},
		{"RESET", "RESET threads", locked, reads},
		{"PRAGMA threads", "PRAGMA threads = 1", locked, reads},
		{"PRAGMA profiling_output", "PRAGMA profiling_output = " + target, locked, reads},
		{"PRAGMA enable_profiling", "PRAGMA enable_profiling = 'json'", locked, reads},
		{"PRAGMA log_query_path", "PRAGMA log_query_path = " + target, locked, reads},
		{"CREATE TABLE", "CREATE TABLE x (a INTEGER)", ro, reads},
		{"CREATE TABLE AS", "CREATE TABLE x AS FROM events", ro, reads},
		{"CREATE VIEW", "CREATE VIEW x AS SELECT 1", ro, reads},
		{"CREATE MACRO", "CREATE MACRO x() AS 1", ro, reads},
		{"INSERT", "INSERT INTO events (event_seq) VALUES (2)", ro, reads},
		{"UPDATE", "UPDATE events SET event_seq = 2", ro, reads},
		{"DELETE", "DELETE FROM events", ro, reads},
		{"TRUNCATE", "TRUNCATE events", ro, reads},
		{"MERGE", "MERGE INTO events USING (SELECT 1 AS n) s ON event_seq = n WHEN MATCHED THEN DELETE", ro, reads},
		{"ALTER", "ALTER TABLE events ADD COLUMN x INTEGER", ro, reads},
		{"DROP", "DROP TABLE events", ro, reads},
		{"COMMENT", "COMMENT ON TABLE events IS 'x'", ro, reads},
		// These change nothing on disk; Query refuses them all the same.
		{"CREATE TEMP TABLE", "CREATE TEMP TABLE x (a INTEGER)", "", reads},
		{"BEGIN", "BEGIN TRANSACTION", "", reads},
		{"CHECKPOINT", "CHECKPOINT", "", reads},
		{"VACUUM", "VACUUM", "", reads},
		{"SET VARIABLE", "SET VARIABLE x = 1", "", reads},
		{"PREPARE", "PREPARE x AS SELECT 1", "", reads},
		{"CALL", "CALL pragma_version()", "", reads},
		{"enable_profiling", "FROM enable_profiling(save_location = " + quoteText(filepath.Join(outside, "p.json")) + ", format = 'json')", "", "refused"},
		{"enable_logging", "FROM Enable_Logging(storage = 'file', storage_path = " + target + ")", "skip", "refused"},
		{"two statements", "SELECT 1; COPY events TO " + target, access, "exactly one"},
		{"two statements that read", "SELECT 1; SELECT 2", "", "exactly one"},
		{"no statement", " -- nothing\n", "", "exactly one"},
		{"what hides behind a NUL", "SELECT 1 \x00; DROP TABLE events", "", "NUL"},
		{"no SQL", "SELEKT 1", "syntax error", "syntax error"},
		{"an unknown column", "SELECT nope FROM events", "nope", "nope"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.sealed != "skip" {
				s, err := db.db.connect()
				if err != nil {
					t.Fatal(err)
				}
				err = s.exec(context.Background(), tt.sql)
				s.close()
				if tt.sealed == "" && err != nil || tt.sealed != "" && (err == nil || !strings.Contains(err.Error(), tt.sealed)) {
					t.Errorf("DuckDB says %v, want %q", err, tt.sealed)
				}
			}
			_, _, err := collect(db, tt.sql)
			if err == nil || !strings.Contains(err.Error(), tt.query) {
				t.Fatalf("Query = %v, want %q", err, tt.query)
			}
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.Usage {
				t.Errorf("Query = %#v, want a fault.Error of kind Usage", err)
			}
		})
	}
	if got := one(t, db, "SELECT count(*) FROM events"); got != "1" {
		t.Errorf("events has %s rows now", got)
	}
	if diff := cmp.Diff(before, tree(t, dir, outside, other)); diff != "" {
		t.Errorf("the disk changed: %s", diff)
	}
}

// tree lists the files below dirs with size and time.
func tree(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err == nil {
				out[path] = info.Mode().String() + " " + info.ModTime().String()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestQueryForms(t *testing.T) {
	dir := t.TempDir()
	newWarehouse(t, dir)
	db := built(t, dir, Options{})
	for _, sql := range []string{
		"SELECT 1;", "FROM events", "VALUES (1)", "WITH x AS (SELECT 1) FROM x", "TABLE events", "DESCRIBE events",
		"SHOW TABLES", "SUMMARIZE events", "EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT 1", "PRAGMA table_info('events')",
		"PIVOT events ON kind USING count(*)", "SELECT 1 -- comment", "FROM duckdb_settings()", "FROM pragma_database_size()", "FROM events WHERE text LIKE '%enable_logging%'",
	} {
		if _, _, err := collect(db, sql); err != nil && !(strings.HasPrefix(sql, "PIVOT") && strings.Contains(err.Error(), "exactly one")) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if got := one(t, db, "SELECT current_setting('temp_directory')"); got != "" {
		t.Errorf("temp_directory is %q", got)
	}
	for _, name := range []string{"autoinstall_known_extensions", "autoload_known_extensions", "enable_external_access"} {
		if got := one(t, db, "SELECT current_setting(?)", name); got != "false" {
			t.Errorf("%s is %s", name, got)
		}
	}
}

func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(context.Background(), dir)
	if !errors.Is(err, fs.ErrNotExist) || fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "run `gander run` first") {
		t.Errorf("without a database: %v, hint %q", err, fault.HintOf(err))
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("Open made %v", entries)
	}
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), dir); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
		t.Errorf("with a spoiled database: %v", err)
	}
}

func TestTypes(t *testing.T) {
	dir := t.TempDir()
	newWarehouse(t, dir)
	db := built(t, dir, Options{})
	huge := func(s string) *big.Int {
		n, _ := new(big.Int).SetString(s, 10)
		return n
	}
	utc := func(s string) time.Time { return at(s).UTC() }
	tests := []struct {
		sql, typ string
		want     any
	}{
		{"true", "BOOLEAN", true},
		{"(-128)::TINYINT", "TINYINT", int64(-128)},
		{"(-32768)::SMALLINT", "SMALLINT", int64(-32768)},
		{"(-2147483648)::INTEGER", "INTEGER", int64(-2147483648)},
		{"-9223372036854775808", "BIGINT", int64(-9223372036854775808)},
		{"255::UTINYINT", "UTINYINT", int64(255)},
		{"65535::USMALLINT", "USMALLINT", int64(65535)},
		{"4294967295::UINTEGER", "UINTEGER", int64(4294967295)},
		{"18446744073709551615::UBIGINT", "UBIGINT", uint64(18446744073709551615)},
		{"'-170141183460469231731687303715884105728'::HUGEINT", "HUGEINT", huge("-170141183460469231731687303715884105728")},
		{"(-1)::HUGEINT", "HUGEINT", huge("-1")},
		{"'340282366920938463463374607431768211455'::UHUGEINT", "UHUGEINT", huge("340282366920938463463374607431768211455")},
		{"'123456789012345678901234567890123456789012345'::BIGNUM", "BIGNUM", huge("123456789012345678901234567890123456789012345")},
		{"(-5)::BIGNUM", "BIGNUM", huge("-5")},
		{"0.1::FLOAT", "FLOAT", float32(0.1)},
		{"0.1::DOUBLE", "DOUBLE", 0.1},
		{"(-0.05)::DECIMAL(4,2)", "DECIMAL(4,2)", value.Decimal("-0.05")},
		{"12345.678::DECIMAL(9,3)", "DECIMAL(9,3)", value.Decimal("12345.678")},
		{"7::DECIMAL(18,0)", "DECIMAL(18,0)", value.Decimal("7")},
		{"'-1234567890123456789012345678.0123456789'::DECIMAL(38,10)", "DECIMAL(38,10)", value.Decimal("-1234567890123456789012345678.0123456789")},
		{"'short'", "VARCHAR", "short"},
		{"'exactly 12 b'", "VARCHAR", "exactly 12 b"},
		{"'longer than twelve \U0001F600'", "VARCHAR", "longer than twelve \U0001F600"},
		{"chr(0) || 'x'", "VARCHAR", "\x00x"},
		{"''", "VARCHAR", ""},
		{`'{"a": 1}'::JSON`, "JSON", value.JSON(`{"a": 1}`)},
		{"'\\x00\\xFF'::BLOB", "BLOB", []byte{0, 255}},
		{"'0010110100'::BIT", "BIT", "0010110100"},
		{"'eeccb8c5-9943-b2bb-bb5e-222f4e14b687'::UUID", "UUID", "eeccb8c5-9943-b2bb-bb5e-222f4e14b687"},
		{"'00000000-0000-0000-0000-000000000001'::UUID", "UUID", "00000000-0000-0000-0000-000000000001"},
		{"'b'::ENUM('a', 'b''c', 'b')", "ENUM('a', 'b''c', 'b')", "b"},
		{"DATE '1969-12-31'", "DATE", "1969-12-31"},
		{"'infinity'::DATE", "DATE", "infinity"},
		{"TIME '23:59:59.000100'", "TIME", "23:59:59.0001"},
		{"TIME '24:00:00'", "TIME", "24:00:00"},
		{"'01:02:03.5+05:30'::TIMETZ", "TIME WITH TIME ZONE", "01:02:03.5+05:30"},
		{"'01:02:03-15:59:59'::TIMETZ", "TIME WITH TIME ZONE", "01:02:03-15:59:59"},
		{"TIMESTAMP '2026-10-03 16:55:31.123456'", "TIMESTAMP", utc("2026-10-03T16:55:31.123456Z")},
		{"TIMESTAMP '1900-01-01 00:00:00.000001'", "TIMESTAMP", utc("1900-01-01T00:00:00.000001Z")},
		{"'-infinity'::TIMESTAMP", "TIMESTAMP", "-infinity"},
		{"TIMESTAMP_S '2026-10-03 16:55:31'", "TIMESTAMP_S", utc("2026-10-03T16:55:31Z")},
		{"TIMESTAMP_MS '2026-10-03 16:55:31.123'", "TIMESTAMP_MS", utc("2026-10-03T16:55:31.123Z")},
		{"TIMESTAMP_NS '2026-10-03 16:55:31.123456789'", "TIMESTAMP_NS", utc("2026-10-03T16:55:31.123456789Z")},
		{"to_timestamp(0)", "TIMESTAMP WITH TIME ZONE", value.Instant(utc("1970-01-01T00:00:00Z"))},
		{"INTERVAL '14 months -3 days 04:05:06.7'", "INTERVAL", "1 year 2 months -3 days 04:05:06.7"},
		{"INTERVAL '0 days'", "INTERVAL", "00:00:00"},
		{"INTERVAL (-1) MICROSECOND", "INTERVAL", "-00:00:00.000001"},
		{"[1, NULL, 3]", "INTEGER[]", []any{int64(1), nil, int64(3)}},
		{"[]::INTEGER[]", "INTEGER[]", []any{}},
		{"[[1], NULL, []]", "INTEGER[][]", []any{[]any{int64(1)}, nil, []any{}}},
		{"[1, NULL]::INTEGER[2]", "INTEGER[2]", []any{int64(1), nil}},
		{`{'z': 1, 'a"': ['x']}`, `STRUCT("z" INTEGER, "a""" VARCHAR[])`, value.Struct{{Name: "z", Value: int64(1)}, {Name: `a"`, Value: []any{"x"}}}},
		{"MAP {'b': 1, 'a': NULL}", "MAP(VARCHAR, INTEGER)", value.Map{{Key: "b", Value: int64(1)}, {Key: "a"}}},
		{"MAP {}::MAP(INTEGER, INTEGER)", "MAP(INTEGER, INTEGER)", value.Map{}},
		{"union_value(n := 1)::UNION(n INTEGER, s VARCHAR)", `UNION("n" INTEGER, "s" VARCHAR)`, int64(1)},
		{"'x'::UNION(n INTEGER, s VARCHAR)", `UNION("n" INTEGER, "s" VARCHAR)`, "x"},
		{`['{"b":1,"a":1e400}'::JSON]`, "JSON[]", []any{value.JSON(`{"b":1,"a":1e400}`)}},
		{"NULL", "INTEGER", nil},
		{"NULL::JSON", "JSON", nil},
	}
	for _, tt := range tests {
		got, columns, err := collect(db, "SELECT "+tt.sql+" AS v")
		if err != nil {
			t.Errorf("%s: %v", tt.sql, err)
			continue
		}
		if diff := cmp.Diff([]value.Column{{Name: "v", Type: tt.typ}}, columns); diff != "" {
			t.Errorf("%s: %s", tt.sql, diff)
		}
		if diff := cmp.Diff(tt.want, got[0][0], cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 }),
			cmp.Comparer(func(a, b value.Instant) bool { return time.Time(a).Equal(time.Time(b)) })); diff != "" {
			t.Errorf("%s: %s", tt.sql, diff)
		}
	}
	// Every type DuckDB has is read or refused, and nothing in between.
	for _, r := range all(t, db, "SELECT column_name FROM (DESCRIBE FROM test_all_types())") {
		name := quoteName(r[0].(string))
		if _, _, err := collect(db, "SELECT "+name+" FROM test_all_types()"); err != nil && !strings.Contains(err.Error(), "cast it to VARCHAR") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParameters(t *testing.T) {
	dir := t.TempDir()
	newWarehouse(t, dir)
	db := built(t, dir, Options{})
	when := at("2026-10-03T16:55:31.123456Z").UTC()
	got := all(t, db, "SELECT ?::BOOLEAN, ?::BIGINT, ?::BIGINT, ?::DOUBLE, ?::VARCHAR, ?::TIMESTAMP, ?::VARCHAR", true, 1, int64(2), 0.5, "a\x00'", when, nil)
	want := [][]any{{true, int64(1), int64(2), 0.5, "a\x00'", when, nil}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, args := range [][]any{{}, {1, 2}, {struct{}{}}} {
		if _, err := db.Query(context.Background(), "SELECT ?", args...); fault.KindOf(err) != fault.Usage {
			t.Errorf("with %v: %v", args, err)
		}
	}
}

func TestStreams(t *testing.T) {
	dir := t.TempDir()
	newWarehouse(t, dir)
	db := built(t, dir, Options{})

	t.Run("a result larger than memory", func(t *testing.T) {
		// 10^12 rows: only a stream gets to the first.
		rows, err := db.Query(context.Background(), "SELECT range, repeat('x', 100) FROM range(1000000000000)")
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for r, err := range rows.All() {
			if err != nil {
				t.Fatal(err)
			}
			if r[0] != n {
				t.Fatalf("row %d is %v", n, r[0])
			}
			if n++; n == 10_000 {
				break
			}
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	})

	t.Run("an error after the first rows", func(t *testing.T) {
		got, _, err := collect(db, "SELECT CASE WHEN range = 3000000 THEN 'x' ELSE '1' END::INTEGER FROM range(4000000)")
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "Could not convert") {
			t.Errorf("after %d rows: %v", len(got), err)
		}
		if len(got) == 0 || len(got) > 3_000_000 {
			t.Errorf("%d rows came before the error", len(got))
		}
	})

	t.Run("an error that is heard of second", func(t *testing.T) {
		s, err := db.db.connect()
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		interrupt := errors.New("INTERRUPT Error: Interrupted!") //nolint:revive // what DuckDB says
		rows := &Rows{ctx: context.Background(), s: s, sql: "SELECT error(?::VARCHAR || range) FROM range(10)", args: []any{"number "}}
		if err := rows.fail(interrupt); !strings.Contains(err.Error(), "number 0") {
			t.Errorf("the error is %v", err)
		}
		rows = &Rows{ctx: context.Background(), s: s, sql: "EXPLAIN SELECT 1"}
		if err := rows.fail(interrupt); !errors.Is(err, interrupt) || fault.KindOf(err) != fault.Usage {
			t.Errorf("the error is %v", err)
		}
	})

	t.Run("values outlive their chunk", func(t *testing.T) {
		got := all(t, db, "SELECT repeat('x', 20) || range, [range] FROM range(10000)")
		if got[0][0] != "xxxxxxxxxxxxxxxxxxxx0" || got[9999][0] != "xxxxxxxxxxxxxxxxxxxx9999" {
			t.Errorf("%v ... %v", got[0], got[9999])
		}
	})

	t.Run("cancelled while it runs", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := db.Query(ctx, "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range = -1")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Query = %v", err)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("it went on for %v", d)
		}
	})

	t.Run("cancelled between rows", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		rows, err := db.Query(ctx, "FROM range(1000000000000)")
		if err != nil {
			t.Fatal(err)
		}
		var last error
		for _, err := range rows.All() {
			cancel()
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("the last error is %v", last)
		}
	})

	t.Run("side by side", func(t *testing.T) {
		a, err := db.Query(context.Background(), "FROM range(10000)")
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for r, err := range a.All() {
			if err != nil {
				t.Fatal(err)
			}
			if r[0].(int64)%2500 == 0 {
				sum += all(t, db, "SELECT ?::BIGINT", r[0])[0][0].(int64)
			}
		}
		if sum != 15000 {
			t.Errorf("sum = %d", sum)
		}
	})
}
