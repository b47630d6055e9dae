package duckdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"gander/load/duckdb/views"
	"gander/schemas"
	"gander/schemas/fault"
)

// readOnly opens a database without the right to write to it.
var readOnly = map[string]string{"access_mode": "READ_ONLY"}

// sealed is run before the first query. temp_directory is where DuckDB would
// spill; without one it does not.
var sealed = []string{
	"SET GLOBAL temp_directory = ''",
	"SET GLOBAL enable_external_access = false",
	"SET GLOBAL lock_configuration = true",
}

// DB is a warehouse's database, open for reading. Queries may run at once.
type DB struct {
	db   *database
	path string
}

// Open opens the database of the warehouse in dir, as the package promises.
func Open(ctx context.Context, dir string) (*DB, error) {
	path := filepath.Join(dir, FileName)
	db, err := openSealed(ctx, path)
	if err != nil {
		return nil, err
	}
	return &DB{db: db, path: path}, nil
}

func openSealed(ctx context.Context, path string, settings ...map[string]string) (*database, error) {
	if err := exists(path); err != nil {
		return nil, err
	}
	db, err := openDatabase(path, append(settings, offline, readOnly)...)
	if err != nil {
		return nil, openFault(path, err)
	}
	if err := seal(ctx, db); err != nil {
		db.close()
		return nil, openFault(path, err)
	}
	return db, nil
}

func seal(ctx context.Context, db *database) error {
	s, err := db.connect()
	if err != nil {
		return err
	}
	defer s.close()
	for _, sql := range sealed {
		if err := s.exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

func exists(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &fault.Error{Kind: fault.Usage, Op: "open database", Path: path, Err: fs.ErrNotExist,
			Hint: "There is no database here: run `gander run` first, or name the warehouse with --warehouse."}
	case err != nil:
		return &fault.Error{Kind: fault.Usage, Op: "open database", Path: path, Err: err}
	case !info.Mode().IsRegular():
		return &fault.Error{Kind: fault.Usage, Op: "open database", Path: path, Err: errors.New("not a file")}
	}
	return nil
}

func openFault(path string, err error) error {
	hint := "Run `gander run` again to build the database from the Parquet files."
	if strings.Contains(err.Error(), "Could not set lock") {
		hint = "Another program has the database open for writing: close it there."
	}
	return &fault.Error{Kind: fault.Usage, Op: "open database", Path: path, Err: err, Hint: hint}
}

// Close closes the database. Rows must be closed before.
func (d *DB) Close() error {
	d.db.close()
	return nil
}

// Relations lists what can be exported: the tables, then the views.
func Relations() []string {
	var names []string
	for _, t := range schemas.Tables() {
		names = append(names, t.Name)
	}
	names = append(names, schemas.Runs.Name)
	for _, v := range views.Views() {
		names = append(names, v.Name)
	}
	return names
}

func checkRelation(name string) error {
	for _, r := range Relations() {
		if r == name {
			return nil
		}
	}
	return &fault.Error{Kind: fault.Usage, Op: "export", Err: fmt.Errorf("no table or view %q", name),
		Hint: "There are " + strings.Join(Relations(), ", ") + "."}
}

// ordered are the settings with which a table or view is read in stored order.
// A join keeps the order of its rows only where one thread runs it.
func ordered(name string) map[string]string {
	if _, ok := views.Lookup(name); ok {
		return map[string]string{"threads": "1"}
	}
	return nil
}

// Relation returns all rows of a table or view. Those of a table, and those of
// timeline, are in stored order. The caller closes the rows.
func (d *DB) Relation(ctx context.Context, name string) (*Rows, error) {
	if err := checkRelation(name); err != nil {
		return nil, err
	}
	db, err := openSealed(ctx, d.path, ordered(name))
	if err != nil {
		return nil, err
	}
	own := &DB{db: db, path: d.path}
	rows, err := own.Query(ctx, "SELECT * FROM "+quoteName(name))
	if err != nil {
		own.Close()
		return nil, err
	}
	release := rows.release
	rows.release = func() {
		release()
		own.Close()
	}
	return rows, nil
}

// unlocked matches the functions that change settings in spite of a locked
// configuration, and those that run a text as a query, in which their names
// would not be seen. A log that is to go to a file is refused only when it is
// written, and by then DuckDB can no longer be closed without an abort.
var unlocked = regexp.MustCompile(`(?i)\b((?:en|dis)able_(?:logging|profiling)|truncate_duckdb_logs|query|query_table|json_execute_serialized_sql)"?\s*\(`)

// literals matches what of a query is text or comment and no code. A text that
// is not closed is left to DuckDB, which refuses it.
var literals = regexp.MustCompile(`(?s)'(?:[^']|'')*'|\$\$.*?\$\$|\$[A-Za-z_]\w*\$.*?\$[A-Za-z_]\w*\$|--[^\n]*|/\*.*?\*/`)

// Query runs one statement that reads, with args for its parameters: nil,
// bool, int, int64, float64, string and time.Time. The caller closes the rows.
func (d *DB) Query(ctx context.Context, sql string, args ...any) (*Rows, error) {
	rows, err := d.query(ctx, sql, args)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, queryFault(err)
	}
	return rows, nil
}

func queryFault(err error) error {
	return &fault.Error{Kind: fault.Usage, Op: "query", Err: err}
}

func (d *DB) query(ctx context.Context, sql string, args []any) (*Rows, error) {
	if strings.ContainsRune(sql, 0) {
		return nil, errors.New("the query has a NUL character")
	}
	if f := unlocked.FindStringSubmatch(literals.ReplaceAllString(sql, " ")); f != nil {
		return nil, fmt.Errorf("%s is refused: the configuration is locked", strings.ToLower(f[1]))
	}
	s, err := d.db.connect()
	if err != nil {
		return nil, err
	}
	rows, err := s.query(ctx, sql, args, reads)
	if err != nil {
		s.close()
		return nil, err
	}
	rows.release = s.close
	return rows, nil
}

// reads lets the statements through that read.
func reads(t mapping.StatementType) error {
	switch t {
	case mapping.StatementTypeSelect, mapping.StatementTypeExplain:
		return nil
	}
	return errors.New("only statements that read are let through: SELECT, FROM, WITH, VALUES, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN")
}
