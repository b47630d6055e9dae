package sqlitero

import (
	"context"
	"strings"
)

// Kinds of table, as SQLite names them.
const (
	KindTable   = "table"
	KindView    = "view"
	KindVirtual = "virtual"
	KindShadow  = "shadow"
)

// Table is an entry of the schema that can stand in a FROM clause.
type Table struct {
	Name         string
	Kind         string
	WithoutRowID bool
	Root         uint32 // page of the b-tree; 0 when the table has none
	// RowID is an SQL name of the rowid that no column hides, "" when the
	// table has none.
	RowID   string
	Columns []Column
}

// Column is a column of a table, in stored order.
type Column struct {
	Name       string
	Type       string // declared type
	NotNull    bool
	Default    string // expression; see HasDefault
	HasDefault bool
	PrimaryKey int // position in the primary key from 1, 0 when not in it
	// Hidden is 0 for an ordinary column, 1 for one of a virtual table's, 2
	// for a generated one that is computed when read, 3 for a stored one.
	Hidden int
	// Alias says that the column is the rowid by another name.
	Alias bool
}

// Readable reports that rows can be read as stored, without running anything
// the database brings along.
func (t *Table) Readable() bool {
	return (t.Kind == KindTable || t.Kind == KindShadow) && !t.WithoutRowID && t.RowID != "" && t.Root != 0
}

// Stored reports that the column's value stands in the table's record or is
// its rowid.
func (c *Column) Stored() bool { return c.Hidden == 0 || c.Hidden == 3 }

// Quote writes an identifier in SQL.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Tables lists the tables and views of the schema in its order, SQLite's own
// schema table left out.
func (db *DB) Tables(ctx context.Context) ([]Table, error) {
	rows, err := db.Query(ctx, "SELECT name, type, rootpage FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY rowid")
	if err != nil {
		return nil, err
	}
	var tables []Table
	for rows.Next() {
		v := rows.Values()
		name := v[0].Text()
		kind := v[1].Text()
		root := v[2].Int
		tables = append(tables, Table{Name: name, Kind: kind, Root: uint32(root)})
	}
	rows.Close()
	if rows.Err() != nil && !Damage(rows.Err()) {
		return nil, rows.Err()
	}
	known, err := db.kinds(ctx)
	if err != nil {
		return nil, err
	}
	out := tables[:0]
	for _, t := range tables {
		k, ok := known[fold(t.Name)]
		if !ok {
			continue // a row of the schema table that SQLite could not parse
		}
		t.Kind, t.WithoutRowID = k.Kind, k.WithoutRowID
		if t.Kind == KindTable || t.Kind == KindShadow {
			if err := db.columns(ctx, &t); err != nil {
				return nil, err
			}
		}
		out = append(out, t)
	}
	return out, nil
}

func (db *DB) kinds(ctx context.Context) (map[string]Table, error) {
	rows, err := db.Query(ctx, "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[string]Table{}
	for rows.Next() {
		v := rows.Values()
		name := v[0].Text()
		kind := v[1].Text()
		known[fold(name)] = Table{Kind: kind, WithoutRowID: v[2].Int == 1}
	}
	return known, rows.Err()
}

func (db *DB) columns(ctx context.Context, t *Table) error {
	rows, err := db.Query(ctx, "PRAGMA main.table_xinfo("+Quote(t.Name)+")")
	if err != nil {
		return err
	}
	defer rows.Close()
	names := map[string]bool{}
	keys := 0
	for rows.Next() {
		v := rows.Values()
		c := Column{NotNull: v[3].Int == 1}
		c.Name = v[1].Text()
		c.Type = v[2].Text()
		c.Default, c.HasDefault = v[4].Text(), v[4].Kind == Text
		pk := v[5].Int
		hidden := v[6].Int
		c.PrimaryKey, c.Hidden = int(pk), int(hidden)
		if pk > 0 {
			keys++
		}
		names[fold(c.Name)] = true
		t.Columns = append(t.Columns, c)
	}
	if rows.Err() != nil || t.WithoutRowID {
		return rows.Err()
	}
	for _, name := range []string{"rowid", "_rowid_", "oid"} {
		if !names[name] {
			t.RowID = name
			break
		}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		if keys != 1 || c.PrimaryKey != 1 || fold(c.Type) != "integer" {
			continue
		}
		// INTEGER PRIMARY KEY DESC is no alias, and has an index for it.
		var indexed int64
		err := db.QueryRow(ctx, "SELECT count(*) FROM pragma_index_list("+literal(t.Name)+") WHERE origin = 'pk'", &indexed)
		if err != nil {
			return err
		}
		if c.Alias = indexed == 0; c.Alias {
			t.RowID = Quote(c.Name)
		}
	}
	return nil
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// fold lower-cases the ASCII letters, as SQLite compares names.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// SameName reports that two names are one to SQLite.
func SameName(a, b string) bool { return fold(a) == fold(b) }

// QuickCheck returns the answer of PRAGMA quick_check: "ok", or its first n
// messages a line each. It reads the whole database; ctx interrupts it.
func (db *DB) QuickCheck(ctx context.Context, n int64) (string, error) {
	rows, err := db.Query(ctx, "PRAGMA quick_check("+itoa(n)+")")
	if err != nil {
		if Damage(err) {
			return err.Error(), nil
		}
		return "", err
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		line := rows.Values()[0].Text()
		lines = append(lines, line)
		if err := ctx.Err(); err != nil {
			return "", err
		}
	}
	if err := rows.Err(); err != nil {
		if !Damage(err) {
			return "", err
		}
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n"), nil
}
