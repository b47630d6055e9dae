package render

import (
	"bufio"
	"strings"

	"gander/load/duckdb/value"
)

// markdownPrinter prints a GitHub table. A cell stays on its line and in its
// column, and shows its text: no part of it acts as HTML or as an escape.
type markdownPrinter struct {
	w        *bufio.Writer
	columns  []value.Column
	terminal bool
	buf      []byte
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, `|`, `\|`, "`", "\\`", `&`, `&amp;`, `<`, `&lt;`,
	"\r\n", `<br>`, "\n", `<br>`, "\r", `<br>`,
)

func (p *markdownPrinter) begin() error {
	for _, c := range p.columns {
		p.cell(c.Name)
	}
	p.w.WriteString("|\n")
	for _, c := range p.columns {
		if numeric(c.Type) {
			p.w.WriteString("| ---: ")
		} else {
			p.w.WriteString("| --- ")
		}
	}
	_, err := p.w.WriteString("|\n")
	return err
}

func (p *markdownPrinter) row(values []any) error {
	for _, v := range values {
		if v == nil {
			p.w.WriteString("| *NULL* ")
			continue
		}
		p.buf = value.AppendText(p.buf[:0], v)
		p.cell(string(p.buf))
	}
	_, err := p.w.WriteString("|\n")
	return err
}

func (p *markdownPrinter) cell(s string) {
	s = markdownEscapes.Replace(s)
	if p.terminal {
		s = Escape(s)
	}
	p.w.WriteString("| ")
	p.w.WriteString(s)
	p.w.WriteByte(' ')
}

func (p *markdownPrinter) end(int64) error { return nil }
