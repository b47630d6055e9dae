package render_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gander/load/duckdb/value"
	"gander/load/render"
)

var columns = []value.Column{{Name: "n", Type: "BIGINT"}, {Name: "t|ext", Type: "VARCHAR"}, {Name: "extra", Type: "JSON"}}

// rows yields the same slice for every row, as a query does.
func rows(data ...[]any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		var buf []any
		for _, row := range data {
			buf = append(buf[:0], row...)
			if !yield(buf, nil) {
				return
			}
		}
	}
}

var sample = [][]any{
	{int64(9007199254740993), "plain", value.JSON(`{"b":1,"a":[2.50]}`)},
	{nil, "", nil},
	{int64(-1), "a,\"b\"|c\\\r\nd\te<x>&\x1b[31m\u202e\u0085é", value.JSON("\"\u202e\"")},
	{int64(7), "NULL", value.JSON("null")},
}

func TestFormats(t *testing.T) {
	tests := []struct {
		name string
		o    render.Options
		want string
	}{
		{"jsonl", render.Options{Format: render.JSONL}, `{"n":9007199254740993,"t|ext":"plain","extra":{"b":1,"a":[2.50]}}
{"n":null,"t|ext":"","extra":null}
{"n":-1,"t|ext":"a,\"b\"|c\\\r\nd\te<x>&\u001b[31m` + "\u202e\u0085é" + `","extra":"` + "\u202e" + `"}
{"n":7,"t|ext":"NULL","extra":null}
`},
		{"jsonl on a terminal", render.Options{Format: render.JSONL, Terminal: true}, `{"n":9007199254740993,"t|ext":"plain","extra":{"b":1,"a":[2.50]}}
{"n":null,"t|ext":"","extra":null}
{"n":-1,"t|ext":"a,\"b\"|c\\\r\nd\te<x>&\u001b[31m\u202e\u0085é","extra":"\u202e"}
{"n":7,"t|ext":"NULL","extra":null}
`},
		{"json", render.Options{Format: render.JSON}, `[
{"n":9007199254740993,"t|ext":"plain","extra":{"b":1,"a":[2.50]}},
{"n":null,"t|ext":"","extra":null},
{"n":-1,"t|ext":"a,\"b\"|c\\\r\nd\te<x>&\u001b[31m` + "\u202e\u0085é" + `","extra":"` + "\u202e" + `"},
{"n":7,"t|ext":"NULL","extra":null}
]
`},
		{"csv", render.Options{Format: render.CSV}, "n,t|ext,extra\n" +
			"9007199254740993,plain,\"{\"\"b\"\":1,\"\"a\"\":[2.50]}\"\n" +
			",\"\",\n" +
			"-1,\"a,\"\"b\"\"|c\\\r\nd\te<x>&\x1b[31m\u202e\u0085é\",\"\"\"\u202e\"\"\"\n" +
			"7,NULL,null\n"},
		{"csv on a terminal", render.Options{Format: render.CSV, Terminal: true}, "n,t|ext,extra\n" +
			"9007199254740993,plain,\"{\"\"b\"\":1,\"\"a\"\":[2.50]}\"\n" +
			",\"\",\n" +
			`-1,"a,""b""|c\\u{d}\u{a}d\u{9}e<x>&\u{1b}[31m\u{202e}\u{85}é","""\u{202e}"""` + "\n" +
			"7,NULL,null\n"},
		{"markdown", render.Options{Format: render.Markdown}, `| n | t\|ext | extra |
| ---: | --- | --- |
| 9007199254740993 | plain | {"b":1,"a":[2.50]} |
| *NULL* |  | *NULL* |
| -1 | a,"b"\|c\\<br>d` + "\te&lt;x>&amp;\x1b[31m\u202e\u0085é | \"\u202e\" |\n" + `| 7 | NULL | null |
`},
		{"table", render.Options{Format: render.Table}, strings.Join([]string{
			"                n │ t|ext                     │ extra",
			"──────────────────┼───────────────────────────┼────────────────────",
			" 9007199254740993 │ plain                     │ {\"b\":1,\"a\":[2.50]}",
			"             NULL │                           │ NULL",
			"               -1 │ a,\"b\"|c\\\\r\\nd\\te<x>&\x1b[31m\u202e\u0085é │ \"\u202e\"",
			"                7 │ \"NULL\"                    │ null",
			"(4 rows)", ""}, "\n")},
		{"table on a narrow terminal", render.Options{Format: render.Table, Terminal: true, Width: 30}, strings.Join([]string{
			"        n │ t|ext    │ extra",
			"──────────┼──────────┼──────────",
			" 9007199… │ plain    │ {\"b\":1,…",
			"     NULL │          │ NULL",
			"       -1 │ a,\"b\"|c… │ \"\\u{202…",
			"        7 │ \"NULL\"   │ null",
			"(4 rows)", ""}, "\n")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			n, err := render.Write(&b, tt.o, columns, rows(sample...))
			if err != nil || n != int64(len(sample)) {
				t.Fatalf("Write = %d, %v", n, err)
			}
			if diff := cmp.Diff(tt.want, b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEmptyResult(t *testing.T) {
	want := map[render.Format]string{
		render.Table:    " n │ t|ext │ extra\n───┼───────┼───────\n(0 rows)\n",
		render.CSV:      "n,t|ext,extra\n",
		render.JSON:     "[]\n",
		render.JSONL:    "",
		render.Markdown: "| n | t\\|ext | extra |\n| ---: | --- | --- |\n",
	}
	for _, f := range render.Formats() {
		var b bytes.Buffer
		if _, err := render.Write(&b, render.Options{Format: f}, columns, rows()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[f], b.String()); diff != "" {
			t.Errorf("%s: %s", f, diff)
		}
	}
}

// What an independent reader makes of the output is what was put in.
func TestReadBack(t *testing.T) {
	text := "a\x00\x1f\"\\,\r\n \u2028<>&\U0001F600\x7f"
	for _, terminal := range []bool{false, true} {
		var b bytes.Buffer
		if _, err := render.Write(&b, render.Options{Format: render.JSONL, Terminal: terminal}, columns, rows([]any{int64(1), text, nil})); err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got["t|ext"] != text {
			t.Errorf("terminal %t: %q, want %q", terminal, got["t|ext"], text)
		}
	}

	var b bytes.Buffer
	text = " a\"\",\n\tb' "
	if _, err := render.Write(&b, render.Options{Format: render.CSV}, columns, rows([]any{int64(1), text, nil})); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1", text, ""}, records[1]); diff != "" {
		t.Error(diff)
	}
}

func TestTableWidth(t *testing.T) {
	one := []value.Column{{Name: "a", Type: "VARCHAR"}, {Name: "b", Type: "VARCHAR"}}
	data := [][]any{
		{"日本", "x"},
		{"e\u0301", "x"},
		{"\U0001F600", "x"},
		{strings.Repeat("w", 5000), "x"},
	}
	var b bytes.Buffer
	if _, err := render.Write(&b, render.Options{Format: render.Table}, one, rows(data...)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	want := []string{
		" a" + strings.Repeat(" ", 79) + " │ b",
		strings.Repeat("─", 82) + "┼───",
		" 日本" + strings.Repeat(" ", 76) + " │ x",
		" e\u0301" + strings.Repeat(" ", 79) + " │ x",
		" \U0001F600" + strings.Repeat(" ", 78) + " │ x",
		" " + strings.Repeat("w", 5000) + " │ x",
		"(4 rows)", "",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

// A table does not hold its rows: the widths of the first ones stand.
func TestTableStreams(t *testing.T) {
	one := []value.Column{{Name: "a", Type: "VARCHAR"}}
	pr, pw := io.Pipe()
	defer pr.Close()
	seen := make(chan struct{})
	go func() {
		io.ReadFull(pr, make([]byte, 70000))
		close(seen)
		io.Copy(io.Discard, pr)
	}()
	var sent int
	forever := func(yield func([]any, error) bool) {
		for {
			select {
			case <-seen:
				return
			default:
				if sent++; sent > 1e6 || !yield([]any{strings.Repeat("x", 50)}, nil) {
					return
				}
			}
		}
	}
	if _, err := render.Write(pw, render.Options{Format: render.Table}, one, forever); err != nil {
		t.Fatal(err)
	}
	if sent > 1e6 {
		t.Error("no row came out before the last row went in")
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	failAfter := func(yield func([]any, error) bool) {
		_ = yield([]any{int64(1), "kept", nil}, nil) && yield(nil, broken)
	}
	for _, f := range render.Formats() {
		var b bytes.Buffer
		n, err := render.Write(&b, render.Options{Format: f}, columns, failAfter)
		if !errors.Is(err, broken) || n != 1 {
			t.Errorf("%s: Write = %d, %v, want the error of the rows", f, n, err)
		}
		if f != render.Table && !strings.Contains(b.String(), "kept") {
			t.Errorf("%s: the row before the error is gone: %q", f, b.String())
		}

		asked := 0
		endless := func(yield func([]any, error) bool) {
			for asked < 1e6 {
				asked++
				if !yield([]any{int64(1), "x", nil}, nil) {
					return
				}
			}
		}
		if _, err := render.Write(&failing{after: 100 << 10}, render.Options{Format: f}, columns, endless); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: Write = %v, want the error of the writer", f, err)
		}
		if asked == 1e6 {
			t.Errorf("%s: the query went on after the writer failed", f)
		}
	}
	if _, err := render.Write(io.Discard, render.Options{Format: "xml"}, columns, rows()); err == nil || !strings.Contains(err.Error(), "jsonl") {
		t.Errorf("Write(xml) = %v, want an error that names the formats", err)
	}
}

func TestParseFormat(t *testing.T) {
	for _, f := range render.Formats() {
		if got, err := render.ParseFormat(string(f)); got != f || err != nil {
			t.Errorf("ParseFormat(%q) = %q, %v", f, got, err)
		}
	}
	if _, err := render.ParseFormat("JSON"); err == nil {
		t.Error("ParseFormat(JSON) passed")
	}
}

func TestEscape(t *testing.T) {
	tests := map[string]string{
		"plain é 日本 \U0001F468\u200D\U0001F469 \u200b": "plain é 日本 \U0001F468\u200D\U0001F469 \u200b",
		"\x00\x1b\x7f\u009b\n\t":                       `\u{0}\u{1b}\u{7f}\u{9b}\u{a}\u{9}`,
		"\u061c\u200e\u200f\u202a\u202e\u2066\u2069":   `\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}`,
		"\u2028\u2029\u2027\u202f\u2065\u206a":         "\\u{2028}\\u{2029}\u2027\u202f\u2065\u206a",
		"\uFFFD\xff":                                   "\uFFFD\uFFFD",
		"":                                             "",
	}
	for in, want := range tests {
		if got := render.Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}
