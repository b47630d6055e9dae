// Package verify reads a warehouse back with another Parquet library than the
// one that wrote it, and compares what it finds with what was promised.
//
// Three things must agree: the manifests of the homes, which were written from
// the counts of the run; the Parquet files, re-read row by row; and, through
// the caller, the database that was loaded from them. Values are compared as
// digests that do not depend on the order of rows.
package verify

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/zeebo/xxh3"

	"gander/load/warehouse"
	"gander/schemas"
)

// Digest sums up rows whatever their order: their number and the sum of their
// hashes, 128 bits.
type Digest struct {
	Rows   int64
	hi, lo uint64
}

// Add adds a row of the columns of a table. A value is nil, bool, int64,
// float64, string, or []int64 for a list; times are microseconds.
func (d *Digest) Add(row []any) {
	var key []byte
	for _, v := range row {
		switch v := v.(type) {
		case nil:
			key = append(key, 'n')
		case bool:
			key = append(key, 'b', 0)
			if v {
				key[len(key)-1] = 1
			}
		case int64:
			key = binary.LittleEndian.AppendUint64(append(key, 'i'), uint64(v))
		case float64:
			key = binary.LittleEndian.AppendUint64(append(key, 'f'), math.Float64bits(v))
		case string:
			key = binary.AppendUvarint(append(key, 's'), uint64(len(v)))
			key = append(key, v...)
		case []int64:
			key = binary.AppendUvarint(append(key, 'l'), uint64(len(v)))
			for _, n := range v {
				key = binary.AppendVarint(key, n)
			}
		default:
			panic(fmt.Sprintf("verify: a value of type %T", v))
		}
	}
	sum := xxh3.Hash128(key)
	lo := d.lo + sum.Lo
	if lo < d.lo {
		d.hi++
	}
	d.hi, d.lo = d.hi+sum.Hi, lo
	d.Rows++
}

// String is the digest in hex, with the number of rows.
func (d Digest) String() string { return fmt.Sprintf("%d rows %016x%016x", d.Rows, d.hi, d.lo) }

// Database is the database of the warehouse. Rows reads the rows of one home
// from one table, in the columns of the table's declaration.
type Database interface {
	// Runs are the run_ids of the runs that it was loaded from.
	Runs(ctx context.Context) (map[string]bool, error)
	Rows(ctx context.Context, table *schemas.Table, homeID string, add func(row []any) error) error
}

// Result is what Warehouse found.
type Result struct {
	Homes   int64    `json:"homes"`
	Files   int64    `json:"files"`
	Rows    int64    `json:"rows"`
	Bytes   int64    `json:"bytes"`
	Faults  []string `json:"faults"`
	Checked string   `json:"checked"` // what was compared
}

// Warehouse verifies a warehouse against its manifests and, where db is not
// nil, its database. Faults are in the result; an error means that verifying
// itself could not go on.
func Warehouse(ctx context.Context, w *warehouse.Warehouse, db Database) (Result, error) {
	r := Result{Faults: []string{}, Checked: "manifests, Parquet"}
	if db != nil {
		r.Checked += ", DuckDB"
	}
	manifests, err := w.Homes()
	if err != nil {
		return r, err
	}
	loaded := map[string]bool{}
	if db != nil {
		if loaded, err = db.Runs(ctx); err != nil {
			return r, err
		}
	}
	known := map[string]bool{}
	for _, m := range manifests {
		r.Homes++
		held := map[string]Digest{}
		for _, f := range m.Files {
			if err := ctx.Err(); err != nil {
				return r, err
			}
			known[filepath.FromSlash(f.Path)] = true
			r.Files++
			r.Bytes += f.Bytes
			fault := func(format string, args ...any) {
				r.Faults = append(r.Faults, f.Path+": "+fmt.Sprintf(format, args...))
			}
			path := filepath.Join(w.Dir(), filepath.FromSlash(f.Path))
			if n, sum, err := hashFile(path); err != nil {
				fault("%v", err)
				continue
			} else if n != f.Bytes || sum != f.SHA256 {
				fault("%d bytes with SHA-256 %s, the manifest has %d with %s", n, sum, f.Bytes, f.SHA256)
			}
			table := schemas.Lookup(f.Table)
			if table == nil {
				fault("no table %q", f.Table)
				continue
			}
			d := held[f.Table]
			before := d.Rows
			if err := eachRow(path, table, func(row []any) error { d.Add(row); return nil }); err != nil {
				fault("%v", err)
			}
			held[f.Table] = d
			if got := d.Rows - before; got != f.Rows {
				fault("%d rows, the manifest has %d", got, f.Rows)
			}
			r.Rows += d.Rows - before
		}
		if db == nil {
			continue
		}
		if !loaded[m.RunID] {
			r.Faults = append(r.Faults, fmt.Sprintf("%s: newer than the database: run %s did not end; run gander run again", m.HomeID, m.RunID))
			continue
		}
		for _, table := range schemas.Tables() {
			var d Digest
			err := db.Rows(ctx, table, m.HomeID, func(row []any) error { d.Add(row); return nil })
			if err != nil {
				return r, err
			}
			if d != held[table.Name] {
				r.Faults = append(r.Faults, fmt.Sprintf("%s of %s: the database has %s, Parquet %s", table.Name, m.HomeID, d, held[table.Name]))
			}
		}
	}
	return r, strangers(w, known, &r)
}

// strangers finds Parquet files that no manifest names: every reader of the
// directory would count their rows.
func strangers(w *warehouse.Warehouse, known map[string]bool, r *Result) error {
	return filepath.WalkDir(w.Parquet(), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(w.Dir(), path)
		if err == nil && !known[rel] && !strings.Contains(filepath.ToSlash(rel), "/home_id=none/") {
			r.Faults = append(r.Faults, filepath.ToSlash(rel)+": no manifest names it")
		}
		return err
	})
}

func hashFile(path string) (n int64, sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err = io.Copy(h, f)
	return n, hex.EncodeToString(h.Sum(nil)), err
}

// eachRow passes every row of a file to add, which must not keep it.
func eachRow(path string, table *schemas.Table, add func(row []any) error) (err error) {
	// parquet-go panics on some damage that it does not check for.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot be read: %v", p)
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := parquetgo.OpenFile(f, info.Size())
	if err != nil {
		return err
	}
	names := file.Schema().Columns()
	if len(names) != len(table.Columns) {
		return fmt.Errorf("%d columns, %s has %d", len(names), table.Name, len(table.Columns))
	}
	for i, c := range table.Columns {
		if names[i][0] != c.Name {
			return fmt.Errorf("column %d is %s, %s has %s there", i, names[i][0], table.Name, c.Name)
		}
	}
	out := make([]any, len(table.Columns))
	buf := make([]parquetgo.Row, 64)
	for _, group := range file.RowGroups() {
		rows := group.Rows()
		for {
			n, err := rows.ReadRows(buf)
			for _, row := range buf[:n] {
				err := fill(out, table, row)
				if err == nil {
					err = add(out)
				}
				if err != nil {
					return errors.Join(err, rows.Close())
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return errors.Join(err, rows.Close())
			}
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	return nil
}

// fill brings one row into the values that Digest takes.
func fill(out []any, table *schemas.Table, row parquetgo.Row) error {
	for i := range out {
		out[i] = nil
	}
	for _, v := range row {
		i := v.Column()
		kind := table.Columns[i].Kind
		if kind == schemas.IntList {
			list, _ := out[i].([]int64)
			switch {
			case !v.IsNull():
				out[i] = append(list, int64(v.Int32()))
			case v.DefinitionLevel() > 0 && list == nil:
				out[i] = []int64{}
			}
			continue
		}
		if v.IsNull() {
			continue
		}
		switch kind {
		case schemas.Text, schemas.JSON:
			out[i] = string(v.ByteArray())
		case schemas.Int, schemas.Time:
			out[i] = v.Int64()
		case schemas.Float:
			out[i] = v.Double()
		case schemas.Bool:
			out[i] = v.Boolean()
		default:
			return fmt.Errorf("column %s is of no kind that is known", table.Columns[i].Name)
		}
	}
	return nil
}
