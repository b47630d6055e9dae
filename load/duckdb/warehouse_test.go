package duckdb

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"gander/load/duckdb/value"
	"gander/schemas"
	"gander/schemas/batch"
)

// row is a row of a table by column; what it lacks is NULL.
type row map[string]any

// writeParquet writes rows as one file of a home's table.
func writeParquet(t testing.TB, dir, home string, table *schemas.Table, file string, rows ...row) {
	t.Helper()
	path := filepath.Join(dir, "parquet", table.Name, "home_id="+home, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	pw, err := pqarrow.NewFileWriter(table.Arrow(), f,
		parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd)), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	set := batch.NewSet(memory.DefaultAllocator, func(rec arrow.RecordBatch) bool {
		defer rec.Release()
		if err := pw.WriteBuffered(rec); err != nil {
			t.Fatal(err)
		}
		return true
	})
	defer set.Release()
	w := set.Table(table)
	for _, r := range rows {
		appendRow(t, w, table, r)
	}
	set.Flush()
	if err := pw.Close(); err != nil {
		t.Fatal(err)
	}
}

func appendRow(t testing.TB, w *batch.Writer, table *schemas.Table, r row) {
	t.Helper()
	for name := range r {
		if table.Index(name) < 0 {
			t.Fatalf("%s has no column %s", table.Name, name)
		}
	}
	for _, c := range table.Columns {
		switch v := r[c.Name].(type) {
		case nil:
			w.Null()
		case string:
			w.Text(v)
		case int:
			w.Int(int64(v))
		case int64:
			w.Int(v)
		case float64:
			w.OptFloat(v, true)
		case bool:
			w.Bool(v)
		case time.Time:
			w.Time(v)
		case []int32:
			w.Ints(v)
		default:
			t.Fatalf("%s.%s: %T", table.Name, c.Name, v)
		}
	}
	w.End()
}

// newWarehouse makes a warehouse in which every table has its empty file.
func newWarehouse(t testing.TB, dir string) {
	t.Helper()
	for _, table := range schemas.Tables() {
		writeParquet(t, dir, noHome, table, "empty.parquet")
	}
}

func writeRun(t testing.TB, dir, name string, record any) {
	t.Helper()
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "runs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "runs", name), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// built builds and opens the database of a warehouse.
func built(t testing.TB, dir string, opts Options) *DB {
	t.Helper()
	if err := Build(context.Background(), dir, opts); err != nil {
		t.Fatal(err)
	}
	db, err := Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// all returns the rows of a query.
func all(t testing.TB, db *DB, sql string, args ...any) [][]any {
	t.Helper()
	out, _, err := collect(db, sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}

func collect(db *DB, sql string, args ...any) ([][]any, []value.Column, error) {
	rows, err := db.Query(context.Background(), sql, args...)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	var out [][]any
	for r, err := range rows.All() {
		if err != nil {
			return out, nil, err
		}
		out = append(out, append([]any(nil), r...))
	}
	return out, rows.Columns, nil
}

// one returns the only value of a query as text; NULL is <nil>.
func one(t testing.TB, db *DB, sql string, args ...any) string {
	t.Helper()
	rows := all(t, db, sql, args...)
	if len(rows) != 1 || len(rows[0]) != 1 {
		t.Fatalf("%s: %d rows, want one value", sql, len(rows))
	}
	return fmt.Sprint(rows[0][0])
}
