package extract

import (
	"context"

	"gander/extract/internal/sqlitefile"
	"gander/extract/internal/sqlitero"
)

// rowReader reads rows of a table: page by page as long as everything is as
// SQLite writes it, which costs least, and through SQLite, which finds its way
// around damage, where it is not.
type rowReader struct {
	r       *sessionsReader
	t       *storedTable
	columns []string
	pages   *sqlitefile.Rows // nil where pages are not to be read so
	sqlite  *sqlitero.Reader // nil until it is needed
}

// openPages makes the database's pages readable without SQLite, where they can
// be. The caller calls done at the end.
func (r *sessionsReader) openPages() (done func(), err error) {
	main, log, ok := r.db.Plain()
	if !ok {
		return func() {}, nil
	}
	f, err := sqlitefile.Open(r.ctx, main, log)
	if err != nil { // SQLite has opened it: it reads on alone
		return func() {}, r.ctx.Err()
	}
	r.pages = f.State(f.Commits())
	return func() { f.Close() }, nil
}

// reader returns a reader of columns of t, by their names; a column that t does
// not have reads as NULL.
func (r *sessionsReader) reader(t *storedTable, columns []string) *rowReader {
	named := make([]string, len(columns))
	for i, c := range columns {
		named[i] = t.column(c)
	}
	out := &rowReader{r: r, t: t, columns: named}
	if r.pages != nil {
		out.pages = r.pages.Rows(t.table, named)
	}
	return out
}

// selected writes a column so that the driver leaves its value as it is.
func selected(column string) string {
	if column == "" {
		return "NULL"
	}
	return "+" + sqlitero.Quote(column)
}

// through returns the reader that goes through SQLite.
func (r *rowReader) through() (*sqlitero.Reader, error) {
	if r.sqlite != nil {
		return r.sqlite, nil
	}
	exprs := make([]string, len(r.columns))
	for i, c := range r.columns {
		exprs[i] = selected(c)
	}
	var err error
	r.sqlite, err = r.r.db.Reader(r.t.table, exprs)
	return r.sqlite, err
}

// Close frees what the reader holds.
func (r *rowReader) Close() {
	if r.sqlite != nil {
		r.sqlite.Close()
	}
}

// Scan is sqlitero.Reader.Scan.
func (r *rowReader) Scan(ctx context.Context, row sqlitero.Row, gap func(sqlitero.Gap) error) error {
	var told sqlitero.Told
	if r.pages != nil {
		done, err := r.pages.Scan(ctx, func(id int64, v []sqlitero.Value) error {
			told.Add(id)
			return row(id, v)
		})
		if done || err != nil {
			return err
		}
	}
	reader, err := r.through()
	if err != nil {
		return err
	}
	// From the first row on: behind damage, rows need not be where their rowids say.
	return reader.Scan(ctx, &told, row, gap)
}

// Again is sqlitero.Reader.Again.
func (r *rowReader) Again() *sqlitero.Gap {
	if r.sqlite == nil {
		return nil
	}
	return r.sqlite.Again()
}

// Fetch is sqlitero.Reader.Fetch.
func (r *rowReader) Fetch(ctx context.Context, ids []int64, row sqlitero.Row, bad func(int64, error) error) error {
	if r.pages != nil {
		n, err := r.pages.Fetch(ctx, ids, row)
		if ids = ids[n:]; len(ids) == 0 || err != nil {
			return err
		}
	}
	reader, err := r.through()
	if err != nil {
		return err
	}
	return reader.Fetch(ctx, ids, row, bad)
}
