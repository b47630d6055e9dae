package sqlitero

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"modernc.org/sqlite"
)

// Primary result codes of SQLite.
const (
	codeNoMem   = 7
	codeIOErr   = 10
	codeCorrupt = 11
	codeTooBig  = 18
	codeNotADB  = 26
)

func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// Damage reports that err comes from bytes of the database that cannot be what
// SQLite wrote, or cannot be read at all; other rows may still be there.
func Damage(err error) bool {
	switch code(err) {
	case codeCorrupt, codeNotADB, codeIOErr, codeTooBig, codeNoMem:
		return true
	}
	return false
}

func notSQLite(err error) bool { return code(err) == codeNotADB }

// Kind is a storage class.
type Kind uint8

// The storage classes.
const (
	Null Kind = iota
	Int
	Real
	Text
	Blob
)

// Value is a stored value.
type Value struct {
	Kind  Kind
	Int   int64
	Real  float64
	Bytes []byte // of Text and Blob: as stored, UTF-8 or not; not to be changed
}

// Text is the text of a value of that class, "" for every other.
func (v *Value) Text() string {
	if v.Kind != Text {
		return ""
	}
	return string(v.Bytes)
}

// valueOf takes a value over from the driver, which makes none of other types
// for the columns of Rows.
func valueOf(v driver.Value) Value {
	switch v := v.(type) {
	case int64:
		return Value{Kind: Int, Int: v}
	case float64:
		return Value{Kind: Real, Real: v}
	case string:
		return Value{Kind: Text, Bytes: unsafe.Slice(unsafe.StringData(v), len(v))}
	case []byte:
		return Value{Kind: Blob, Bytes: v}
	}
	return Value{}
}

// Stmt is a prepared statement.
type Stmt struct {
	db *DB
	s  driver.Stmt
}

// Rows are the result of a query. Columns must be selected as expressions
// (+name): the driver turns the values of a column declared TIMESTAMP or DATE
// into times of its own reading.
type Rows struct {
	db     *DB
	rows   driver.Rows
	driver []driver.Value
	values []Value
	err    error
	stmt   driver.Stmt // to be closed with the rows
}

var errClosed = errors.New("database is closed")

// Prepare compiles a query.
func (db *DB) Prepare(sql string) (*Stmt, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.conn == nil {
		return nil, errClosed
	}
	s, err := db.conn.Prepare(sql)
	if err != nil {
		return nil, err
	}
	return &Stmt{db, s}, nil
}

// Close frees the statement.
func (s *Stmt) Close() error {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if s.db.conn == nil {
		return nil
	}
	return s.s.Close()
}

// Query runs the statement up to its first row. A context that ends interrupts
// it until then: a query that computes long before its first row needs one
// that can; others spare its cost with context.Background. A Stmt has one
// result open at a time.
func (s *Stmt) Query(ctx context.Context, args ...int64) (*Rows, error) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if s.db.conn == nil {
		return nil, errClosed
	}
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	rows, err := s.s.(driver.StmtQueryContext).QueryContext(ctx, named)
	if err != nil {
		return nil, err
	}
	n := len(rows.Columns())
	return &Rows{db: s.db, rows: rows, driver: make([]driver.Value, n), values: make([]Value, n)}, nil
}

// Query prepares and runs a query; see Stmt.Query about ctx.
func (db *DB) Query(ctx context.Context, sql string, args ...int64) (*Rows, error) {
	s, err := db.Prepare(sql)
	if err != nil {
		return nil, err
	}
	rows, err := s.Query(ctx, args...)
	if err != nil {
		s.Close()
		return nil, err
	}
	rows.stmt = s.s
	return rows, nil
}

// QueryRow reads the first row into dest, each a *int64, *string or *Value;
// NULL leaves an int64 0 and a string "".
func (db *DB) QueryRow(ctx context.Context, sql string, dest ...any) error {
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		if rows.err != nil {
			return rows.err
		}
		return io.EOF
	}
	for i, d := range dest {
		switch d := d.(type) {
		case *Value:
			*d = rows.values[i]
		case *int64:
			*d = rows.values[i].Int
		case *string:
			*d = rows.values[i].Text()
		default:
			return fmt.Errorf("no destination: %T", d)
		}
	}
	return nil
}

// Next steps to the next row.
func (r *Rows) Next() bool {
	if r.err != nil {
		return false
	}
	r.db.mu.Lock()
	defer r.db.mu.Unlock()
	if r.db.conn == nil {
		r.err = errClosed
		return false
	}
	err := r.rows.Next(r.driver)
	for i := range r.values {
		r.values[i] = valueOf(r.driver[i])
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return err == nil
}

// Values are the current row's. The slice is overwritten by Next, the values
// are not.
func (r *Rows) Values() []Value { return r.values }

// Err tells why Next ended, nil at the end of the rows.
func (r *Rows) Err() error { return r.err }

// Close frees the rows.
func (r *Rows) Close() {
	r.db.mu.Lock()
	defer r.db.mu.Unlock()
	if r.db.conn == nil {
		return
	}
	r.rows.Close() // repeats the error of the last step
	if r.stmt != nil {
		r.stmt.Close()
	}
}
