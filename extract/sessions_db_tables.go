package extract

import (
	"strconv"

	"gander/extract/internal/sqlitero"
	"gander/schemas"
	"gander/schemas/jsonval"
	"gander/schemas/values"
)

// tellTables yields db_tables: every table, known or not. Views are none;
// virtual tables are listed, but neither counted nor asked for their columns.
func (r *sessionsReader) tellTables() error {
	high := r.sequences()
	w := r.out.Table(schemas.DBTables)
	for i := range r.tables {
		t := &r.tables[i]
		if t.Kind == sqlitero.KindView {
			continue
		}
		rows, low, top, err := r.size(t)
		if err != nil {
			return err
		}
		w.Text(r.source.file.Path)
		w.Text(cleaned(t.Name))
		w.OptInt(rows.V, rows.OK)
		w.OptInt(low.V, low.OK)
		w.OptInt(top.V, top.OK)
		seq, ok := high[t.Name]
		w.OptInt(seq, ok)
		w.Bytes(columnsJSON(t))
		w.End()
	}
	w.Flush()
	return r.more()
}

// sequences reads sqlite_sequence.
func (r *sessionsReader) sequences() map[string]int64 {
	high := map[string]int64{}
	for i := range r.tables {
		t := &r.tables[i]
		if !t.Readable() || !sqlitero.SameName(t.Name, "sqlite_sequence") {
			continue
		}
		rows, err := r.db.Query(r.ctx, "SELECT +name, +seq FROM main.sqlite_sequence")
		if err != nil {
			continue
		}
		for rows.Next() {
			name, _ := textOf(&rows.Values()[0])
			if seq, ok := wholeNumber(&rows.Values()[1]); ok {
				high[name] = seq
			}
		}
		rows.Close()
	}
	return high
}

// size counts a table's rows and finds the rowids at both ends. What cannot be
// found out because of damage stays absent.
func (r *sessionsReader) size(t *sqlitero.Table) (rows, low, top values.Int, err error) {
	if t.Kind == sqlitero.KindVirtual || t.Root == 0 {
		return
	}
	from := " FROM main." + sqlitero.Quote(t.Name) + " NOT INDEXED"
	ask := func(what string) (n values.Int, err error) {
		var v sqlitero.Value
		if err := r.db.QueryRow(r.ctx, "SELECT "+what+from, &v); err != nil {
			return values.Int{}, r.ctx.Err()
		}
		n.V, n.OK = v.Int, v.Kind == sqlitero.Int
		return n, nil
	}
	for _, known := range []*storedTable{r.sessions, r.messages, r.threads} {
		if known != nil && known.table == t && known.counted {
			rows = values.Int{V: known.count, OK: true}
		}
	}
	if !rows.OK {
		if rows, err = ask("count(*)"); err != nil {
			return
		}
	}
	if t.RowID == "" {
		return
	}
	if low, err = ask("min(" + t.RowID + ")"); err != nil {
		return
	}
	top, err = ask("max(" + t.RowID + ")")
	return
}

// columnsJSON describes the columns of a table.
func columnsJSON(t *sqlitero.Table) []byte {
	b := []byte{'['}
	for i, c := range t.Columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonval.AppendQuoted(append(b, `{"name":`...), cleaned(c.Name))
		b = jsonval.AppendQuoted(append(b, `,"type":`...), cleaned(c.Type))
		b = strconv.AppendBool(append(b, `,"notnull":`...), c.NotNull)
		b = append(b, `,"default":`...)
		if c.HasDefault {
			b = jsonval.AppendQuoted(b, cleaned(c.Default))
		} else {
			b = append(b, "null"...)
		}
		b = strconv.AppendInt(append(b, `,"pk":`...), int64(c.PrimaryKey), 10)
		b = append(b, '}')
	}
	return append(b, ']')
}

func cleaned(s string) string {
	clean, _ := values.CleanUTF8(s)
	return clean
}
