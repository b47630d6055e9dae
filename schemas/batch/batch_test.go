package batch

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gander/schemas"
	"gander/schemas/batch/batchtest"
)

var table = &schemas.Table{Name: "t", Columns: []schemas.Column{
	{Name: "a", Kind: schemas.Text}, {Name: "b", Kind: schemas.Int}, {Name: "c", Kind: schemas.Time}, {Name: "d", Kind: schemas.IntList},
	{Name: "e", Kind: schemas.Bool}, {Name: "f", Kind: schemas.Float}, {Name: "g", Kind: schemas.JSON},
}}

func row(w *Writer, text string) {
	w.Text(text)
	w.Int(1)
	w.Time(time.Unix(1, 5000).UTC())
	w.Ints([]int32{1, -2})
	w.Bool(true)
	w.OptFloat(0.5, true)
	w.Bytes([]byte("{}"))
	w.End()
}

func collect(t *testing.T, fill func(*Set, *Writer)) []int64 {
	t.Helper()
	mem := memory.NewCheckedAllocator(batchtest.Poison{})
	defer mem.AssertSize(t, 0)
	var sizes []int64
	set := NewSet(mem, func(r arrow.RecordBatch) bool {
		sizes = append(sizes, r.NumRows())
		r.Release()
		return true
	})
	defer set.Release()
	fill(set, set.Table(table))
	set.Flush()
	return sizes
}

func TestCaps(t *testing.T) {
	fill := func(rows int, text string) func(*Set, *Writer) {
		return func(_ *Set, w *Writer) {
			for range rows {
				row(w, text)
			}
		}
	}
	for name, c := range map[string]struct {
		got  []int64
		want []int64
	}{
		"none":               {collect(t, fill(0, "")), nil},
		"a row less":         {collect(t, fill(MaxRows-1, "x")), []int64{MaxRows - 1}},
		"the cap":            {collect(t, fill(MaxRows, "x")), []int64{MaxRows}},
		"a row more":         {collect(t, fill(MaxRows+1, "x")), []int64{MaxRows, 1}},
		"bytes below":        {collect(t, fill(2, strings.Repeat("x", MaxBytes/2-3))), []int64{2}},
		"bytes at the cap":   {collect(t, fill(3, strings.Repeat("x", MaxBytes/2-2))), []int64{2, 1}},
		"one value above it": {collect(t, fill(2, strings.Repeat("x", MaxBytes+1))), []int64{1, 1}},
	} {
		if len(c.got) != len(c.want) {
			t.Errorf("%s: batches of %v rows, want %v", name, c.got, c.want)
			continue
		}
		for i := range c.got {
			if c.got[i] != c.want[i] {
				t.Errorf("%s: batches of %v rows, want %v", name, c.got, c.want)
			}
		}
	}
}

func TestValues(t *testing.T) {
	set := NewSet(memory.DefaultAllocator, func(r arrow.RecordBatch) bool {
		if got := r.Column(0).(*array.String).Value(0); got != "" || r.Column(0).IsNull(0) {
			t.Errorf("'' became %q", got)
		}
		for c := range int(r.NumCols()) {
			if !r.Column(c).IsNull(1) {
				t.Errorf("column %d of the second row is not NULL", c)
			}
		}
		if got := r.Column(2).(*array.Timestamp).Value(0); got != 1_000_005 {
			t.Errorf("time is %d microseconds", got)
		}
		if got := r.Column(3).ValueStr(0); got != "[1,-2]" {
			t.Errorf("list is %s", got)
		}
		return true
	})
	w := set.Table(table)
	row(w, "")
	w.OptText("x", false)
	w.OptInt(1, false)
	w.Time(time.Time{})
	w.Ints(nil)
	w.OptBool(true, false)
	w.OptFloat(1, false)
	w.TextOrNull("")
	w.End()
	set.Flush()
}

// No text leaves the builder that a reader would refuse the file for.
func TestInvalidUTF8(t *testing.T) {
	set := NewSet(memory.DefaultAllocator, func(r arrow.RecordBatch) bool {
		if a, g := r.Column(0).(*array.String).Value(0), r.Column(6).(*array.String).Value(0); a != "a\uFFFDb" || g != "\"\uFFFD\"" {
			t.Errorf("%q, %q", a, g)
		}
		return true
	})
	w := set.Table(table)
	w.Text("a\xffb")
	for range 5 {
		w.Null()
	}
	w.Bytes([]byte("\"\xe9\""))
	w.End()
	set.Flush()
}

// A consumer that wants no more is not asked again, and nothing leaks.
func TestStop(t *testing.T) {
	mem := memory.NewCheckedAllocator(batchtest.Poison{})
	defer mem.AssertSize(t, 0)
	calls := 0
	set := NewSet(mem, func(r arrow.RecordBatch) bool { calls++; r.Release(); return false })
	defer set.Release()
	for range 3 {
		row(set.Table(table), "x")
		set.Flush()
	}
	if calls != 1 || !set.Stopped() {
		t.Errorf("%d calls, stopped %v", calls, set.Stopped())
	}
}

func TestMisuse(t *testing.T) {
	for name, f := range map[string]func(*Writer){
		"another kind":     func(w *Writer) { w.Int(1) },
		"too many columns": func(w *Writer) { row(w, ""); row(w, ""); w.Null(); w.Null(); w.End() },
		"too few columns":  func(w *Writer) { w.Null(); w.End() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s passes", name)
				}
			}()
			set := NewSet(memory.DefaultAllocator, func(r arrow.RecordBatch) bool { return true })
			f(set.Table(table))
		}()
	}
}
