package sqlitefile

import (
	"context"
	"testing"
)

// A row on a page that cannot be read may be there; one that a good page would
// have is not.
func TestDamaged(t *testing.T) {
	l := newLab(t, "PRAGMA page_size=512", rowsOfT)
	l.insert(1, 100, 50)
	f := l.open()
	s := f.State(0)
	table := s.Table("T")
	if table == nil {
		t.Fatal("no table")
	}
	row, ok := s.Row(table, 50)
	if !ok || s.Has(table, 101) || !s.Has(table, 50) {
		t.Fatal("lookup")
	}
	broken := row.Page
	n := 0
	walk := func() { s.Walk(context.Background(), table, func(*Row) bool { n++; return true }) }
	if walk(); n != 100 || s.Damaged() {
		t.Fatalf("%d rows", n)
	}
	if err := f.main.Close(); err != nil {
		t.Fatal(err)
	}
	path := f.main.Name()
	patch(t, path, int64(broken-1)*512, 0xff)
	g, err := Open(context.Background(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	s, n = g.State(0), 0
	table = s.Table("t")
	if walk(); n == 0 || n == 100 || !s.Damaged() {
		t.Errorf("%d rows, damaged %v", n, s.Damaged())
	}
	if _, ok := s.Row(table, 50); ok || !s.Has(table, 50) || s.Has(table, 101) {
		t.Error("lookup in a damaged tree")
	}
}
