// Package batch builds Arrow record batches of the declared tables, row by row,
// capped by rows and by bytes.
package batch

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gander/schemas"
)

// Caps of a batch. A batch is closed by the row that reaches either.
const (
	MaxRows  = 8192
	MaxBytes = 1 << 20
)

// Yield passes a finished batch on. It returns false when the consumer wants
// no more. The callee owns the batch.
type Yield func(arrow.RecordBatch) bool

// Set holds a Writer per table and passes on each batch that is full. It is
// the producing side of a stream that carries several tables: the schema of a
// batch names its table (schemas.NameOf).
type Set struct {
	mem     memory.Allocator
	yield   Yield
	writers map[*schemas.Table]*Writer
	order   []*Writer
	stopped bool
}

// NewSet returns a Set that passes its batches to yield.
func NewSet(mem memory.Allocator, yield Yield) *Set {
	return &Set{mem: mem, yield: yield, writers: map[*schemas.Table]*Writer{}}
}

// Table returns the writer of a table, always the same one.
func (s *Set) Table(t *schemas.Table) *Writer {
	w := s.writers[t]
	if w == nil {
		w = newWriter(s, t)
		s.writers[t] = w
		s.order = append(s.order, w)
	}
	return w
}

// Stopped reports that the consumer wants no more: a producer should return.
func (s *Set) Stopped() bool { return s.stopped }

// Flush passes on what every writer holds.
func (s *Set) Flush() {
	for _, w := range s.order {
		w.Flush()
	}
}

// Release frees the builders. The Set is of no use afterwards.
func (s *Set) Release() {
	for _, w := range s.order {
		for i := range w.columns {
			w.columns[i].free()
		}
	}
}

// Writer appends rows to one table, a value per column in declared order, then
// End. A value of another kind than the column's panics: that is a bug of the
// caller, never of the data.
type Writer struct {
	set     *Set
	table   *schemas.Table
	columns []column
	col     int
	rows    int
	bytes   int
}

func newWriter(s *Set, t *schemas.Table) *Writer {
	w := &Writer{set: s, table: t, columns: make([]column, len(t.Columns))}
	for i, c := range t.Columns {
		w.columns[i] = column{kind: c.Kind, typ: t.Arrow().Field(i).Type, mem: s.mem}
	}
	return w
}

// next returns the next column, which must be of the kind or the other.
func (w *Writer) next(kind, other schemas.Kind) *column {
	if w.col >= len(w.columns) {
		panic(fmt.Sprintf("batch: %s has no column %d", w.table.Name, w.col))
	}
	c := &w.columns[w.col]
	if c.kind != kind && c.kind != other {
		panic(fmt.Sprintf("batch: %s.%s is %s", w.table.Name, w.table.Columns[w.col].Name, c.kind.SQL()))
	}
	w.col++
	return c
}

// Null appends NULL to the next column, whatever its kind.
func (w *Writer) Null() {
	if w.col >= len(w.columns) {
		panic(fmt.Sprintf("batch: %s has no column %d", w.table.Name, w.col))
	}
	w.columns[w.col].null()
	w.col++
}

// Text appends a text that is there. Texts are UTF-8: a reader would refuse
// the whole file for one that is not, so what is left of that is replaced.
func (w *Writer) Text(s string) {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	w.next(schemas.Text, schemas.JSON).text(s)
	w.bytes += len(s)
}

// Bytes appends a text that is there; b is copied.
func (w *Writer) Bytes(b []byte) { w.Text(unsafe.String(unsafe.SliceData(b), len(b))) }

// OptText appends s, or NULL when ok is false.
func (w *Writer) OptText(s string, ok bool) {
	if ok {
		w.Text(s)
	} else {
		w.Null()
	}
}

// TextOrNull appends s, NULL for ”. It is for values of gander's own, where
// ” means none; stored values keep their ”.
func (w *Writer) TextOrNull(s string) { w.OptText(s, s != "") }

// Int appends an integer that is there.
func (w *Writer) Int(v int64) { w.next(schemas.Int, schemas.Int).fixed(v) }

// OptInt appends v, or NULL when ok is false.
func (w *Writer) OptInt(v int64, ok bool) {
	if ok {
		w.Int(v)
	} else {
		w.Null()
	}
}

// OptFloat appends v, or NULL when ok is false.
func (w *Writer) OptFloat(v float64, ok bool) {
	if ok {
		w.next(schemas.Float, schemas.Float).fixed(int64(math.Float64bits(v)))
	} else {
		w.Null()
	}
}

// Bool appends a flag that is there.
func (w *Writer) Bool(v bool) { w.next(schemas.Bool, schemas.Bool).flag(v) }

// OptBool appends v, or NULL when ok is false.
func (w *Writer) OptBool(v, ok bool) {
	if ok {
		w.Bool(v)
	} else {
		w.Null()
	}
}

// Micros appends a time in microseconds since 1970 UTC, or NULL when ok is false.
func (w *Writer) Micros(us int64, ok bool) {
	if ok {
		w.next(schemas.Time, schemas.Time).fixed(us)
	} else {
		w.Null()
	}
}

// Time appends t, NULL when it is zero.
func (w *Writer) Time(t time.Time) { w.Micros(t.UnixMicro(), !t.IsZero()) }

// Ints appends a list, NULL when it is empty.
func (w *Writer) Ints(v []int32) {
	c := w.next(schemas.IntList, schemas.IntList)
	if len(v) == 0 {
		c.null()
		return
	}
	c.list(v)
}

// End closes the row and passes the batch on when it is full.
func (w *Writer) End() {
	if w.col != len(w.columns) {
		panic(fmt.Sprintf("batch: row of %s ends at column %d of %d", w.table.Name, w.col, len(w.columns)))
	}
	w.col = 0
	w.rows++
	if w.rows >= MaxRows || w.bytes >= MaxBytes {
		w.Flush()
	}
}

// Rows is how many rows the writer holds: none when the last End passed the
// batch on.
func (w *Writer) Rows() int { return w.rows }

// Flush passes on the rows the writer holds, so that they precede in the stream
// what other tables pass on afterwards.
func (w *Writer) Flush() {
	if w.rows == 0 {
		return
	}
	arrays := make([]arrow.Array, len(w.columns))
	for i := range w.columns {
		arrays[i] = w.columns[i].finish()
		defer arrays[i].Release()
	}
	rec := array.NewRecordBatch(w.table.Arrow(), arrays, int64(w.rows))
	w.rows, w.bytes = 0, 0
	if w.set.stopped {
		rec.Release()
		return
	}
	if !w.set.yield(rec) {
		w.set.stopped = true
	}
}
