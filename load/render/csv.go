package render

import (
	"bufio"
	"strings"

	"gander/load/duckdb/value"
)

// csvPrinter prints CSV with the quoting of RFC 4180; lines end in a line
// feed, as the other formats' do. NULL is an empty field,
// the empty text is "".
type csvPrinter struct {
	w        *bufio.Writer
	columns  []value.Column
	terminal bool
	buf      []byte
}

func (p *csvPrinter) begin() error {
	names := make([]any, len(p.columns))
	for i, c := range p.columns {
		names[i] = c.Name
	}
	return p.row(names)
}

func (p *csvPrinter) row(values []any) error {
	for i, v := range values {
		if i > 0 {
			p.w.WriteByte(',')
		}
		if v == nil {
			continue
		}
		p.buf = value.AppendText(p.buf[:0], v)
		p.field(string(p.buf))
	}
	return p.w.WriteByte('\n')
}

func (p *csvPrinter) field(s string) {
	if p.terminal {
		s = Escape(s)
	}
	quote := s == "" || s[0] == ' ' || s[0] == '\t' || strings.ContainsAny(s, "\",\r\n")
	if !quote {
		p.w.WriteString(s)
		return
	}
	p.w.WriteByte('"')
	p.w.WriteString(strings.ReplaceAll(s, `"`, `""`))
	p.w.WriteByte('"')
}

func (p *csvPrinter) end(int64) error { return nil }
