package render

import (
	"bufio"

	"gander/load/duckdb/value"
)

// jsonPrinter prints an object a row, keys in the order of the columns: one a
// line, or as the elements of one array.
type jsonPrinter struct {
	w        *bufio.Writer
	names    [][]byte // each column's name, quoted, with its colon
	terminal bool
	array    bool
	rows     int64
	buf, esc []byte
}

func quotedNames(columns []value.Column) [][]byte {
	names := make([][]byte, len(columns))
	for i, c := range columns {
		names[i] = append(value.AppendQuoted(nil, c.Name), ':')
	}
	return names
}

func (p *jsonPrinter) begin() error {
	if p.array {
		return p.w.WriteByte('[')
	}
	return nil
}

func (p *jsonPrinter) row(values []any) error {
	b := p.buf[:0]
	if p.array {
		if p.rows > 0 {
			b = append(b, ',')
		}
		b = append(b, '\n')
	}
	p.rows++
	b = append(b, '{')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, p.names[i]...)
		b = value.AppendJSON(b, v)
	}
	b = append(b, '}')
	if !p.array {
		b = append(b, '\n')
	}
	p.buf = b
	if p.terminal {
		p.esc = appendEscapedJSON(p.esc[:0], b)
		b = p.esc
	}
	_, err := p.w.Write(b)
	return err
}

func (p *jsonPrinter) end(rows int64) error {
	if !p.array {
		return nil
	}
	end := "\n]\n"
	if rows == 0 {
		end = "]\n"
	}
	_, err := p.w.WriteString(end)
	return err
}
