package sqlitefile

import "context"

// Options say what Recover looks for.
type Options struct {
	Tables []string // by name, in the order of the answer
	// Fits judges what no b-tree vouches for. Values that cannot be a row of
	// the table must be refused: page bytes hold other things than rows. Texts
	// and BLOBs are as found.
	Fits func(table string, columns []Column, values []Value) bool
}

// Recover calls each for every version of a row that the files hold and the
// current state does not, once: by evidence, then table, rowid and time, or
// place in the file. An error of each ends it and is returned.
func (f *File) Recover(ctx context.Context, opt Options, each func(*Version) error) error {
	h := newHistory(f, opt.Tables...)
	if err := h.run(ctx); err != nil {
		return err
	}
	now, err := newCurrent(ctx, h)
	if err != nil {
		return err
	}
	r := newRemains(ctx, h, now, opt, each)
	for _, key := range h.sorted() {
		if err := ctx.Err(); err != nil {
			return err
		}
		at := h.versions[key]
		s := h.at(int(at.last))
		t := s.Table(opt.Tables[key.table])
		var row Row
		if t == nil || now.holds(key, at.rowID) || !s.cellRow(&row, t, at.page, int(at.at)) {
			continue
		}
		if h.keyOf(key.table, t, &row) != key {
			continue // the files changed meanwhile
		}
		if t.alias() >= 0 {
			r.bodies[bodyKey{key.table, h.sums.sum(t.Columns, row.Values, isAlias)}] = struct{}{}
		}
		err := each(&Version{
			Table: opt.Tables[key.table], Evidence: WALCommitted, RowID: row.RowID, HasRowID: true,
			First: int(at.first), Last: int(at.last), Page: row.Page, Offset: row.Offset,
			Columns: t.Columns, Values: row.Values,
		})
		if err != nil {
			return err
		}
	}
	return r.run()
}

// current answers whether the current state holds a version.
type current struct {
	h      *history
	state  *State
	tables []*Table
	sums   []map[sum]struct{} // of tables whose rowid is no column
}

func newCurrent(ctx context.Context, h *history) (*current, error) {
	c := &current{h: h, state: h.f.State(h.f.Commits())}
	for i, name := range h.names {
		t := c.state.Table(name)
		c.tables = append(c.tables, t)
		c.sums = append(c.sums, nil)
		if t == nil || t.alias() >= 0 {
			continue
		}
		c.sums[i] = map[sum]struct{}{}
		err := c.state.Walk(ctx, t, func(r *Row) bool {
			c.sums[i][h.sums.sum(t.Columns, r.Values, nil)] = struct{}{}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// holds reports that the current state holds a version.
func (c *current) holds(key versionKey, rowID int64) bool {
	t := c.tables[key.table]
	switch {
	case t == nil:
		return false
	case c.sums[key.table] != nil:
		_, ok := c.sums[key.table][key.sum]
		return ok
	}
	row, ok := c.state.Row(t, rowID)
	return ok && c.h.sums.sum(t.Columns, row.Values, nil) == key.sum
}
