package render

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strings"

	"gander/load/duckdb/value"
)

// Format is a way to print rows.
type Format string

// The formats.
const (
	Table    Format = "table"
	CSV      Format = "csv"
	JSON     Format = "json"
	JSONL    Format = "jsonl"
	Markdown Format = "markdown"
)

// Formats lists the formats as help texts name them.
func Formats() []Format { return []Format{Table, CSV, JSON, JSONL, Markdown} }

// ParseFormat returns the format of that name.
func ParseFormat(s string) (Format, error) {
	var names []string
	for _, f := range Formats() {
		if s == string(f) {
			return f, nil
		}
		names = append(names, string(f))
	}
	return "", fmt.Errorf("no format %q: there are %s", s, strings.Join(names, ", "))
}

// Options says how to print.
type Options struct {
	Format Format

	// Terminal is set when w is a terminal. Control, escape and bidi characters
	// of the data are then shown as \u{…}; in JSON strings as \uXXXX, so that
	// what is copied from the screen is still JSON.
	Terminal bool

	// Width is the number of columns of the screen that a table should fit in;
	// 0 when it is not known.
	Width int
}

// Write prints rows to w and returns how many. It stops at the first error of
// rows or of w; what was printed until then is in w.
func Write(w io.Writer, o Options, columns []value.Column, rows iter.Seq2[[]any, error]) (int64, error) {
	bw := bufio.NewWriterSize(w, 64<<10)
	p, err := newPrinter(o, bw, columns)
	if err != nil {
		return 0, err
	}
	n, err := writeRows(p, rows)
	if flushErr := bw.Flush(); err == nil {
		err = flushErr
	}
	return n, err
}

// printer prints a result: begin, row for each row, end. The bufio.Writer
// behind it keeps its first error; row returns it so that a reader that has
// gone away stops the query.
type printer interface {
	begin() error
	row(values []any) error
	end(rows int64) error
}

func newPrinter(o Options, w *bufio.Writer, columns []value.Column) (printer, error) {
	switch o.Format {
	case Table:
		return &tablePrinter{w: w, columns: columns, o: o}, nil
	case CSV:
		return &csvPrinter{w: w, columns: columns, terminal: o.Terminal}, nil
	case JSON:
		return &jsonPrinter{w: w, names: quotedNames(columns), terminal: o.Terminal, array: true}, nil
	case JSONL:
		return &jsonPrinter{w: w, names: quotedNames(columns), terminal: o.Terminal}, nil
	case Markdown:
		return &markdownPrinter{w: w, columns: columns, terminal: o.Terminal}, nil
	}
	_, err := ParseFormat(string(o.Format))
	return nil, err
}

func writeRows(p printer, rows iter.Seq2[[]any, error]) (int64, error) {
	if err := p.begin(); err != nil {
		return 0, err
	}
	var n int64
	for values, err := range rows {
		if err != nil {
			return n, err
		}
		if err := p.row(values); err != nil {
			return n, err
		}
		n++
	}
	return n, p.end(n)
}
