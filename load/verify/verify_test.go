package verify

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"gander/extract"
	"gander/load/pipeline"
	"gander/load/warehouse"
	"gander/schemas"
	"gander/testdata/fixture"
)

func TestDigest(t *testing.T) {
	row := func(v ...any) []any { return v }
	of := func(rows ...[]any) Digest {
		var d Digest
		for _, r := range rows {
			d.Add(r)
		}
		return d
	}
	a, b := row("x", int64(1), nil, true, 0.5, []int64{1, -2}), row("", int64(-1), "y", false, nil, []int64{})
	if of(a, b) != of(b, a) {
		t.Error("the order of rows matters")
	}
	for name, other := range map[string]Digest{
		"a row less": of(a), "a row twice": of(a, b, b),
		"another row instead of one": of(a, a), "values in other columns": of(a, row(int64(-1), "", "y", false, nil, []int64{})),
		"NULL for ''": of(a, row(nil, int64(-1), "y", false, nil, []int64{})), "NULL for an empty list": of(a, row("", int64(-1), "y", false, nil, nil)),
		"texts cut elsewhere": of(row("ab", "c")), "and its twin": of(row("a", "bc")),
	} {
		if other == of(a, b) {
			t.Errorf("%s: equal", name)
		}
	}
	if of(row("ab", "c")) == of(row("a", "bc")) {
		t.Error("texts run into one another")
	}
}

// older is a database from before the run.
type older struct{ faulty }

func (older) Runs(context.Context) (map[string]bool, error) {
	return map[string]bool{"before": true}, nil
}

// faulty hands on what Parquet holds, but for one table.
type faulty struct {
	w     *warehouse.Warehouse
	table string
	spoil func(row []any, add func([]any) error) error
}

func (f faulty) Runs(context.Context) (map[string]bool, error) {
	return map[string]bool{"r": true}, nil
}

func (f faulty) Rows(_ context.Context, table *schemas.Table, homeID string, add func([]any) error) error {
	manifests, err := f.w.Homes()
	if err != nil {
		return err
	}
	for _, m := range manifests {
		for _, file := range m.Files {
			if m.HomeID != homeID || file.Table != table.Name {
				continue
			}
			each := add
			if table.Name == f.table {
				each = func(row []any) error { return f.spoil(row, add) }
			}
			if err := eachRow(filepath.Join(f.w.Dir(), file.Path), table, each); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestWarehouse(t *testing.T) {
	homes := filepath.Join(t.TempDir(), "homes")
	if err := fixture.Build("../../testdata/homes", homes); err != nil {
		t.Fatal(err)
	}
	w, err := warehouse.Open(filepath.Join(t.TempDir(), "w"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	opened, err := extract.Open(t.Context(), []string{homes}, extract.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&pipeline.Runner{Warehouse: w, RunID: "r"}).Run(t.Context(), pipeline.Jobs(opened)); err != nil {
		t.Fatal(err)
	}
	same := func(row []any, add func([]any) error) error { return add(row) }
	drop := func([]any, func([]any) error) error { return nil }
	change := func(row []any, add func([]any) error) error {
		row[schemas.Usage.Index("total_tokens")] = int64(1)
		return add(row)
	}
	for _, c := range []struct {
		name string
		db   Database
		want string
	}{
		{"no database", nil, ""},
		{"equal", faulty{w, "events", same}, ""},
		{"rows that are not there", faulty{w, "events", drop}, "events of "},
		{"another number", faulty{w, "usage", change}, "usage of "},
		{"an older database", older{faulty{w, "events", drop}}, "newer than the database: run r did not end"},
	} {
		r, err := Warehouse(t.Context(), w, c.db)
		if err != nil {
			t.Fatal(err)
		}
		if r.Homes != 4 || r.Rows == 0 || (len(r.Faults) == 0) != (c.want == "") || !strings.Contains(strings.Join(r.Faults, "\n"), c.want) {
			t.Errorf("%s: %+v", c.name, r)
		}
		if c.name == "an older database" && len(r.Faults) != 4 { // one a home, not one a table
			t.Errorf("%s: %q", c.name, r.Faults)
		}
	}
}
