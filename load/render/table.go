package render

import (
	"bufio"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"gander/load/duckdb/value"
)

const (
	layoutRows  = 1000    // rows that are held to find the widths of the columns,
	layoutBytes = 1 << 20 // or as many as have this many bytes
	maxCell     = 80      // columns of the screen that a cell takes at most on a terminal
	minCell     = 8       // what a column is narrowed to at most to fit Options.Width
	gutter      = 3       // " │ "
	ellipsis    = "…"
)

// cells measures text as terminals show it, whatever the locale of the caller.
var cells = func() *runewidth.Condition {
	c := runewidth.NewCondition()
	c.EastAsianWidth = false
	return c
}()

// tablePrinter prints aligned columns. On a terminal cells that do not fit are
// cut, which the ellipsis shows; elsewhere nothing is, and a cell that is wider
// than its column moves the rest of its line. NULL stands bare; a text that
// reads NULL is in quotes.
type tablePrinter struct {
	w       *bufio.Writer
	columns []value.Column
	o       Options
	held    [][]string // nil once the layout is fixed
	size    int        // bytes of held
	widths  []int
	right   []bool
	buf     []byte
}

func (p *tablePrinter) begin() error {
	p.held = [][]string{}
	p.widths = make([]int, len(p.columns))
	p.right = make([]bool, len(p.columns))
	for i, c := range p.columns {
		p.right[i] = numeric(c.Type)
	}
	return nil
}

func (p *tablePrinter) row(values []any) error {
	line := make([]string, len(values))
	for i, v := range values {
		line[i] = p.text(v)
	}
	if p.held == nil {
		return p.line(line)
	}
	p.held = append(p.held, line)
	for _, s := range line {
		p.size += len(s)
	}
	if len(p.held) == layoutRows || p.size >= layoutBytes {
		return p.layout()
	}
	return nil
}

func (p *tablePrinter) end(rows int64) error {
	if p.held != nil {
		if err := p.layout(); err != nil {
			return err
		}
	}
	if rows == 1 {
		_, err := p.w.WriteString("(1 row)\n")
		return err
	}
	_, err := fmt.Fprintf(p.w, "(%d rows)\n", rows)
	return err
}

// text is a cell on one line.
func (p *tablePrinter) text(v any) string {
	switch v {
	case nil:
		return "NULL"
	case "NULL":
		return `"NULL"`
	}
	p.buf = value.AppendText(p.buf[:0], v)
	return p.oneLine(p.buf)
}

var lineBreaks = strings.NewReplacer("\r", `\r`, "\n", `\n`, "\t", `\t`)

func (p *tablePrinter) oneLine(text []byte) string {
	if !p.o.Terminal {
		return lineBreaks.Replace(string(text))
	}
	// No more than this can be seen; what follows may be megabytes.
	if limit := 4 * utf8.UTFMax * maxCell; len(text) > limit {
		for !utf8.RuneStart(text[limit]) {
			limit--
		}
		text = text[:limit]
	}
	return cells.Truncate(Escape(string(text)), maxCell, ellipsis)
}

// layout fixes the widths by the rows held and prints them.
func (p *tablePrinter) layout() error {
	head := make([]string, len(p.columns))
	for i, c := range p.columns {
		head[i] = p.oneLine([]byte(c.Name))
		p.widths[i] = cells.StringWidth(head[i])
	}
	for _, line := range p.held {
		for i, s := range line {
			p.widths[i] = max(p.widths[i], min(cells.StringWidth(s), maxCell))
		}
	}
	p.narrow()
	if err := p.line(head); err != nil {
		return err
	}
	for i, width := range p.widths {
		if i > 0 {
			p.w.WriteString("┼")
		}
		p.w.WriteString(strings.Repeat("─", width+2))
	}
	p.w.WriteByte('\n')
	held := p.held
	p.held = nil
	for _, line := range held {
		if err := p.line(line); err != nil {
			return err
		}
	}
	return nil
}

// narrow takes width from the widest columns until the table fits the screen
// or nothing is left to take.
func (p *tablePrinter) narrow() {
	if p.o.Width <= 0 {
		return
	}
	total := gutter*len(p.widths) - 1
	for _, w := range p.widths {
		total += w
	}
	for total > p.o.Width {
		widest := 0
		for i, w := range p.widths {
			if w > p.widths[widest] {
				widest = i
			}
		}
		if p.widths[widest] <= minCell {
			return
		}
		p.widths[widest]--
		total--
	}
}

func (p *tablePrinter) line(line []string) error {
	for i, s := range line {
		if i > 0 {
			p.w.WriteString("│")
		}
		if p.o.Terminal {
			s = cells.Truncate(s, p.widths[i], ellipsis)
		}
		pad := strings.Repeat(" ", max(0, p.widths[i]-cells.StringWidth(s)))
		p.w.WriteByte(' ')
		switch {
		case p.right[i]:
			p.w.WriteString(pad)
			p.w.WriteString(s)
		case i < len(line)-1:
			p.w.WriteString(s)
			p.w.WriteString(pad)
		default: // no blanks at the end of a line
			p.w.WriteString(s)
		}
		if i < len(line)-1 {
			p.w.WriteByte(' ')
		}
	}
	return p.w.WriteByte('\n')
}

// numeric reports whether a column of that DuckDB type is aligned to the right.
func numeric(typ string) bool {
	switch typ {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "BIGNUM",
		"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE":
		return true
	}
	return strings.HasPrefix(typ, "DECIMAL(") && strings.HasSuffix(typ, ")")
}
