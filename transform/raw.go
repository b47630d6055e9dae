package transform

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"gander/schemas"
	"gander/schemas/values"
)

// raw reads the columns of a batch by name. The texts it returns are views of
// the batch: clone what outlives it.
type raw struct {
	columns map[string]int
	rec     arrow.RecordBatch
}

// columnsOf maps the columns of a table to their positions.
func columnsOf(t *schemas.Table) map[string]int {
	m := make(map[string]int, len(t.Columns))
	for i, c := range t.Columns {
		m[c.Name] = i
	}
	return m
}

// row is one row of a raw batch. Its zero value has NULL everywhere.
type row struct {
	raw
	i int
}

func (r row) column(name string) (arrow.Array, bool) {
	if r.rec == nil {
		return nil, false
	}
	i, ok := r.columns[name]
	if !ok {
		panic("transform: no raw column " + name)
	}
	col := r.rec.Column(i)
	return col, col.IsValid(r.i)
}

func (r row) text(name string) (string, bool) {
	col, ok := r.column(name)
	if !ok {
		return "", false
	}
	return col.(*array.String).Value(r.i), true
}

// value is text as an optText.
func (r row) value(name string) optText {
	s, ok := r.text(name)
	return optText{s, ok}
}

// str is text with NULL read as ”.
func (r row) str(name string) string {
	s, _ := r.text(name)
	return s
}

func (r row) int(name string) values.Int {
	col, ok := r.column(name)
	if !ok {
		return values.Int{}
	}
	return values.Int{V: col.(*array.Int64).Value(r.i), OK: true}
}

func (r row) micros(name string) values.Int {
	col, ok := r.column(name)
	if !ok {
		return values.Int{}
	}
	return values.Int{V: int64(col.(*array.Timestamp).Value(r.i)), OK: true}
}

func (r row) float(name string) (float64, bool) {
	col, ok := r.column(name)
	if !ok {
		return 0, false
	}
	return col.(*array.Float64).Value(r.i), true
}

func (r row) bool(name string) (value, ok bool) {
	col, ok := r.column(name)
	if !ok {
		return false, false
	}
	return col.(*array.Boolean).Value(r.i), true
}

// tokens reads the five counts that columns with this prefix hold.
func (r row) tokens(prefix string) values.Tokens {
	return values.Tokens{
		Input:      r.int(prefix + "input_tokens"),
		Output:     r.int(prefix + "output_tokens"),
		CacheRead:  r.int(prefix + "cache_read_tokens"),
		CacheWrite: r.int(prefix + "cache_write_tokens"),
		Total:      r.int(prefix + "total_tokens"),
	}
}
