package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gander/schemas"
	"gander/schemas/batch"
	"gander/schemas/batch/batchtest"
	"gander/schemas/fault"
	"gander/schemas/values"
)

// textFile is the source of a file on disk with a content, as evidence.
func textFile(t *testing.T, mode TextMode, content string) *TextFileSource {
	t.Helper()
	local := filepath.Join(t.TempDir(), "text")
	must(t, os.WriteFile(local, []byte(content), 0o600))
	return NewTextFile(&Home{ID: "h-alice-00000000"}, &File{
		Store: CLIHistory, Path: "/home/alice/text", Local: local, Status: Read, Size: -1, Evidence: true,
	}, mode, SourceOptions{})
}

// inMemory is textFile without a disk.
func inMemory(mode TextMode, content []byte) *TextFileSource {
	s := NewTextFile(&Home{}, &File{Local: "text", Status: Read}, mode, SourceOptions{})
	s.open = fstest.MapFS{"text": {Data: content}}.Open
	return s
}

// heard is what a text file yields, and what its source then reports.
type heard struct {
	Lines  []string // number, text, cut
	Issues []string // code, line, value
	Report Report
}

type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// hear reads a text file to its end and checks what holds for every stream.
func hear(t failer, s *TextFileSource) heard {
	t.Helper()
	mem := memory.NewCheckedAllocator(batchtest.Poison{})
	s.opt.Mem = mem
	var out heard
	for b, err := range s.Records(context.Background()) {
		if err != nil {
			t.Fatalf("%v", err)
		}
		for i := range int(b.NumRows()) {
			at := func(c int) any { return valueAt(b.Column(c), i) }
			switch name := schemas.NameOf(b.Schema()); name {
			case "raw.lines":
				line := fmt.Sprintf("%d %q", at(0), at(1))
				if at(2) == true {
					line += " cut"
				}
				out.Lines = append(out.Lines, line)
			case "raw.issues":
				is := fmt.Sprint(at(0))
				if at(4) != nil {
					is += fmt.Sprint(" ", at(4))
				}
				if at(2) != nil {
					is += fmt.Sprintf(" %q", at(2))
				}
				if at(1) == nil || at(3) != nil {
					t.Errorf("%s has message %v, table %v", is, at(1), at(3))
				}
				out.Issues = append(out.Issues, is)
			default:
				t.Errorf("a batch of %s", name)
			}
		}
		b.Release()
	}
	if n := mem.CurrentAlloc(); n != 0 {
		t.Errorf("%d bytes leak", n)
	}
	out.Report = s.Report()
	if n := out.Report.Records; n >= 0 && n != int64(len(out.Lines)) {
		t.Errorf("%d pieces, reported %d", len(out.Lines), n)
	}
	return out
}

func TestJSONLines(t *testing.T) {
	const bom = byteOrderMark
	for in, want := range map[string][]string{
		"\n":                                 nil,
		"{}":                                 {`1 "{}" cut`},
		"{}\n":                               {`1 "{}"`},
		"{}\n\n \t\r\n[]":                    {`1 "{}"`, `4 "[]" cut`},
		"{}\r\n[]\r\n":                       {`1 "{}"`, `2 "[]"`},
		"{}\r[]\n":                           {`1 "{}\r[]"`},
		"{}\v\f\x1c\n":                       {`1 "{}\v\f\x1c"`},
		"{}\n ":                              {`1 "{}"`},
		"\u00a0\u3000{ }\u2028\u0085\n":      {`1 "{ }"`},
		"\u200b{}\u180e\n":                   {`1 "\u200b{}\u180e"`},
		bom + "{}\n":                         {`1 "{}"`},
		" " + bom + "\t{}\n":                 {`1 "{}"`},
		bom + bom + "{}\n":                   {`1 "\ufeff{}"`},
		"{}" + bom + "\n" + bom + "{}\n":     {`1 "{}\ufeff"`, `2 "\ufeff{}"`},
		"\n" + bom + "{}\n":                  {`2 "\ufeff{}"`},
		bom:                                  nil,
		bom + " \n{}\n":                      {`2 "{}"`},
		"\x00\n{\"a\":\"\x00\"}\n\x00{}\x00": {`1 "\x00"`, `2 "{\"a\":\"\x00\"}"`, `3 "\x00{}\x00" cut`},
		"a\\n\\\\\n":                         {`1 "a\\n\\\\"`},
		"#V2\n":                              {`1 "#V2"`},
	} {
		got := hear(t, textFile(t, JSONLines, in))
		if d := cmp.Diff(want, got.Lines); d != "" {
			t.Errorf("%q: %s", in, d)
		}
		if d := cmp.Diff(Report{Status: Read, Size: int64(len(in)), SHA256: sha(in), Records: int64(len(want))}, got.Report); d != "" || got.Issues != nil {
			t.Errorf("%q: %s %v", in, d, got.Issues)
		}
	}
}

func TestHistory(t *testing.T) {
	for in, want := range map[string][]string{
		"#V2":                            nil,
		"#V2\n":                          nil,
		"#V2\r\na\r\n":                   {`2 "a"`},
		"#V2\na\\nb\n":                   {`2 "a\nb"`},
		"#V2\n\\\\n\n\\\\\\n\n":          {`2 "\\n"`, `3 "\\\n"`},
		"#V2\n\\t\\r\\N\\\n\\\\\\\\\\\n": {`2 "\\t\\r\\N\\"`, `3 "\\\\\\"`},
		"#V2\n\\x\\\\\\n":                {"2 \"\\\\x\\\\\\n\" cut"},
		"#V2\n\\n\n":                     {`2 "\n"`},
		"#V2\n#V2\n":                     {`2 "#V2"`},
		"#V2\n\n\r\na\n":                 {`4 "a"`},
		"#V2\n a\t \u00a0\n \n":          {"2 \" a\\t \\u00a0\"", `3 " "`},
		"#V2\na\r\r\n\r\r\n":             {`2 "a\r"`, `3 "\r"`},
		"#V2\na\rb":                      {`2 "a\rb" cut`},
		"#V2\na\r":                       {`2 "a" cut`},
		"#V2\n\x00\n":                    {`2 "\x00"`},
		"a\\nb\n#V2\nc\\\\\n":            {`1 "a\\nb"`, `2 "#V2"`, `3 "c\\\\"`},
		"\n#V2\n\\n\n":                   {`2 "#V2"`, `3 "\\n"`},
		"#V2 \n\\n\n":                    {`1 "#V2 "`, `2 "\\n"`},
		"#V2\r\r\n\\n\n":                 {`1 "#V2\r"`, `2 "\\n"`},
		"#v2\n\\n\n":                     {`1 "#v2"`, `2 "\\n"`},
		"#V1\n":                          {`1 "#V1"`},
		byteOrderMark + "#V2\n\\n\n":     {`1 "\ufeff#V2"`, `2 "\\n"`},
		"#V2\n" + byteOrderMark + "a\n":  {`2 "\ufeffa"`},
	} {
		got := hear(t, textFile(t, History, in))
		if d := cmp.Diff(want, got.Lines); d != "" {
			t.Errorf("%q: %s", in, d)
		}
		if d := cmp.Diff(Report{Status: Read, Size: int64(len(in)), SHA256: sha(in), Records: int64(len(want))}, got.Report); d != "" || got.Issues != nil {
			t.Errorf("%q: %s %v", in, d, got.Issues)
		}
	}
}

func TestDocument(t *testing.T) {
	for in, want := range map[string]string{
		"a: 1\r\n\r\nb: '\x00'":             `1 "a: 1\r\n\r\nb: '\x00'"`,
		" {}\n":                             `1 " {}\n"`,
		"\n":                                `1 "\n"`,
		byteOrderMark + "{}":                `1 "{}"`,
		byteOrderMark:                       `1 ""`,
		byteOrderMark + byteOrderMark:       `1 "\ufeff"`,
		" " + byteOrderMark:                 `1 " \ufeff"`,
		strings.Repeat("x", batch.MaxBytes): `1 "` + strings.Repeat("x", batch.MaxBytes) + `"`,
	} {
		got := hear(t, textFile(t, Document, in))
		if d := cmp.Diff([]string{want}, got.Lines); d != "" {
			t.Errorf("%.20q: %s", in, d)
		}
		if d := cmp.Diff(Report{Status: Read, Size: int64(len(in)), SHA256: sha(in), Records: -1}, got.Report); d != "" || got.Issues != nil {
			t.Errorf("%.20q: %s %v", in, d, got.Issues)
		}
	}
}

func TestDocumentBound(t *testing.T) {
	if maxDocument != 64<<20 {
		t.Error("the doc comment of Document says 64 MiB")
	}
	s := textFile(t, Document, "12345")
	s.maxDocument = 5
	want := heard{Lines: []string{`1 "12345"`}, Report: Report{Status: Read, Size: 5, SHA256: sha("12345"), Records: -1}}
	if d := cmp.Diff(want, hear(t, s)); d != "" {
		t.Error(d)
	}

	s = textFile(t, Document, "1234567")
	s.maxDocument = 5
	want = heard{Issues: []string{"bad_file"}, Report: Report{Status: Unreadable, Note: "too large: more than 5 bytes", Size: 7}}
	if d := cmp.Diff(want, hear(t, s)); d != "" {
		t.Error(d)
	}
}

func TestInvalidUTF8(t *testing.T) {
	for _, c := range []struct {
		mode   TextMode
		in     string
		lines  []string
		issues []string
	}{
		{JSONLines, "a\xff\n\n \xe2\x82 \x80\n\u20ac\n", []string{"1 \"a\ufffd\"", "3 \"\ufffd \ufffd\"", `4 "€"`}, []string{"invalid_utf8 1 \"a\ufffd\"", "invalid_utf8 3 \"\ufffd \ufffd\""}},
		{JSONLines, "\x85\xa0{}", []string{"1 \"\ufffd\ufffd{}\" cut"}, []string{"invalid_utf8 1 \"\ufffd\ufffd{}\""}},
		{JSONLines, "\xef\xbb{}\n", []string{"1 \"\ufffd{}\""}, []string{"invalid_utf8 1 \"\ufffd{}\""}},
		{JSONLines, "\ufffd\n", []string{"1 \"\ufffd\""}, nil},
		{History, "#V2\n\xc3\\n\\\xed\xa0\x80\n", []string{"2 \"\ufffd\\n\\\\\ufffd\ufffd\ufffd\""}, []string{"invalid_utf8 2 \"\ufffd\\n\\\\\ufffd\ufffd\ufffd\""}},
		{Document, "a:\n\xf0\x9f\x98", []string{"1 \"a:\\n\ufffd\""}, []string{"invalid_utf8 1 \"a:\\n\ufffd\""}},
	} {
		got := hear(t, textFile(t, c.mode, c.in))
		if d := cmp.Diff(c.lines, got.Lines); d != "" {
			t.Errorf("%q: %s", c.in, d)
		}
		if d := cmp.Diff(c.issues, got.Issues); d != "" {
			t.Errorf("%q: %s", c.in, d)
		}
		if got.Report.Status != Read || got.Report.Note != "" || got.Report.SHA256 != sha(c.in) {
			t.Errorf("%q: %+v", c.in, got.Report)
		}
	}
}

func TestLineBound(t *testing.T) {
	if maxLine != 1<<30 {
		t.Error("the doc comment of TextFileSource says 1 GiB")
	}
	const note = "lines of more than 6 bytes are left out"
	for _, c := range []struct {
		mode   TextMode
		in     string
		lines  []string
		issues []string
	}{
		{JSONLines, "123456\n12345\r\n", []string{`1 "123456"`, `2 "12345"`}, nil},
		{JSONLines, "1234567\na\n123456\r\nb", []string{`2 "a"`, `4 "b" cut`}, []string{"line_too_long 1", "line_too_long 3"}},
		{JSONLines, "a\n1234567", []string{`1 "a"`}, []string{"line_too_long 2"}},
		{JSONLines, "\xff\xff\n", []string{"1 \"\ufffd\ufffd\""}, []string{"invalid_utf8 1 \"\ufffd\ufffd\""}},
		{JSONLines, "abc\xff\n", []string{"1 \"abc\ufffd\""}, []string{"invalid_utf8 1 \"abc\ufffd\""}},
		{JSONLines, "\xff\xffa\nb\n", []string{`2 "b"`}, []string{"line_too_long 1"}},
		{History, "#V2\n\\n3456\n\\n34567\n", []string{`2 "\n3456"`}, []string{"line_too_long 3"}},
		{History, "#V21234\n\\n\n", []string{`2 "\\n"`}, []string{"line_too_long 1"}},
	} {
		s := textFile(t, c.mode, c.in)
		s.maxLine = 6
		got := hear(t, s)
		if d := cmp.Diff(c.lines, got.Lines); d != "" {
			t.Errorf("%q: %s", c.in, d)
		}
		if d := cmp.Diff(c.issues, got.Issues); d != "" {
			t.Errorf("%q: %s", c.in, d)
		}
		want := Report{Status: Read, Size: int64(len(c.in)), SHA256: sha(c.in), Records: int64(len(c.lines))}
		if len(c.issues) > 0 && !strings.HasPrefix(c.issues[0], "invalid") {
			want.Status, want.Note = Partial, note
		}
		if d := cmp.Diff(want, got.Report); d != "" {
			t.Errorf("%q: %s", c.in, d)
		}
	}
}

func TestEmptyTextFile(t *testing.T) {
	for _, mode := range []TextMode{JSONLines, History, Document} {
		if d := cmp.Diff(heard{Report: Report{Status: Empty, SHA256: sha("")}}, hear(t, textFile(t, mode, ""))); d != "" {
			t.Error(d)
		}
	}
	s := textFile(t, JSONLines, "")
	s.file.Cut, s.file.Note = true, "the archive is damaged within the file: the last 7 bytes are lost"
	want := heard{Report: Report{Status: Partial, SHA256: sha(""), Note: s.file.Note + "; cut off in the archive"}}
	if d := cmp.Diff(want, hear(t, s)); d != "" {
		t.Error(d)
	}
}

func TestCutTextFile(t *testing.T) {
	for _, mode := range []TextMode{JSONLines, History, Document} {
		s := textFile(t, mode, "a")
		s.file.Cut = true
		got := hear(t, s)
		if len(got.Lines) != 1 || got.Report.Status != Partial || got.Report.Note != "cut off in the archive" || got.Report.SHA256 != sha("a") {
			t.Errorf("%+v", got)
		}
	}
}

// A file that discovery has something to say about is read with its note; one
// that it has set aside is not opened.
func TestTextFileSetAside(t *testing.T) {
	s := textFile(t, JSONLines, "a")
	s.file.Note = "a note"
	if got := hear(t, s); got.Report.Note != "a note" || got.Report.Status != Read {
		t.Errorf("%+v", got)
	}
	for _, status := range []Status{Absent, Empty, SkippedSize, SkippedSecret, Missing, Unreadable, NotRead} {
		f := &File{Local: "/nowhere", Status: status, Note: "a note", Size: 7, SHA256: "00"}
		got := hear(t, NewTextFile(&Home{}, f, JSONLines, SourceOptions{}))
		if d := cmp.Diff(heard{Report: Report{Status: status, Note: "a note", Size: 7, SHA256: "00"}}, got); d != "" {
			t.Error(d)
		}
	}
}

func TestTextFileThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"file": "secret", "link": "->file", "dir/": ""})
	for name, why := range map[string]string{
		"gone": "no such file or directory", "dir": "not a regular file", "link": "not a regular file",
	} {
		for _, mode := range []TextMode{JSONLines, History, Document} {
			s := NewTextFile(&Home{}, &File{Local: filepath.Join(dir, name), Status: Read, Note: "a note", Size: 7, SHA256: "00"}, mode, SourceOptions{})
			want := heard{Issues: []string{"bad_file"}, Report: Report{Status: Unreadable, Note: "a note; " + why, Size: 7, SHA256: "00"}}
			if d := cmp.Diff(want, hear(t, s)); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
	}
}

// brokenFile is a file that fails behind its content.
type brokenFile struct{ io.Reader }

func (brokenFile) Stat() (fs.FileInfo, error) { return nil, nil }
func (brokenFile) Close() error               { return nil }
func (f brokenFile) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err == io.EOF {
		err = &fs.PathError{Op: "read", Path: "/scratch/17", Err: errors.New("input/output error")}
	}
	return n, err
}

func TestTextFileThatBreaksOff(t *testing.T) {
	for _, c := range []struct {
		mode    TextMode
		content string
		lines   []string
		status  Status
	}{
		{JSONLines, "a\nb\n", []string{`1 "a"`, `2 "b"`}, Partial},
		{JSONLines, "a\nb", []string{`1 "a"`, `2 "b" cut`}, Partial},
		{JSONLines, "\n", nil, Unreadable},
		{JSONLines, "", nil, Unreadable},
		{History, "#V2\na", []string{`2 "a" cut`}, Partial},
		{History, "#V2\n", nil, Unreadable},
		{Document, "a", nil, Unreadable},
	} {
		s := NewTextFile(&Home{}, &File{Local: "x", Status: Read, SHA256: "00"}, c.mode, SourceOptions{})
		s.open = func(string) (fs.File, error) { return brokenFile{strings.NewReader(c.content)}, nil }
		want := heard{Lines: c.lines, Issues: []string{"bad_file"}, Report: Report{
			Status: c.status, Note: "input/output error", Size: int64(len(c.content)), Records: int64(len(c.lines)),
		}}
		if d := cmp.Diff(want, hear(t, s)); d != "" {
			t.Errorf("%q: %s", c.content, d)
		}
	}
}

// The file moves while its first batch is looked at, which its end comes after.
func TestTextFileThatChanges(t *testing.T) {
	content := strings.Repeat("line\n", batch.MaxRows+1) + strings.Repeat(" ", 1<<20)
	for name, c := range map[string]struct {
		change func(t *testing.T, local string)
		live   bool
		want   Status
	}{
		"nothing": {func(*testing.T, string) {}, false, Read},
		"grows": {func(t *testing.T, local string) {
			f, err := os.OpenFile(local, os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteString("more\n")
			must(t, err)
			must(t, f.Close())
		}, false, Partial},
		"grows unseen": {func(t *testing.T, local string) {
			st, err := os.Stat(local)
			must(t, err)
			must(t, os.Truncate(local, st.Size()+1))
			must(t, os.Chtimes(local, time.Time{}, st.ModTime()))
		}, false, Partial},
		"shrinks":      {func(t *testing.T, local string) { must(t, os.Truncate(local, 20)) }, false, Partial},
		"touched":      {func(t *testing.T, local string) { must(t, os.Chtimes(local, time.Time{}, testTime)) }, false, Partial},
		"live":         {func(t *testing.T, local string) { must(t, os.Chtimes(local, time.Time{}, testTime)) }, true, Read},
		"live, shrunk": {func(t *testing.T, local string) { must(t, os.Truncate(local, 20)) }, true, Read},
	} {
		s := textFile(t, JSONLines, content)
		s.file.Live = c.live
		var issues []string
		first := true
		for b, err := range s.Records(t.Context()) {
			must(t, err)
			if first {
				c.change(t, s.file.Local)
				first = false
			}
			if schemas.NameOf(b.Schema()) == "raw.issues" {
				issues = append(issues, b.Column(0).(*array.String).Value(0))
			}
			b.Release()
		}
		got := s.Report()
		if got.Status != c.want || (got.SHA256 == "") != (c.want == Partial) || got.Records < batch.MaxRows+1 {
			t.Errorf("%s: %+v", name, got)
		}
		if c.want == Partial && (got.Note != "changed while it was read" || len(issues) != 1 || issues[0] != "changed_while_reading") ||
			c.want == Read && (got.Note != "" || issues != nil) {
			t.Errorf("%s: %q, %v", name, got.Note, issues)
		}
	}
}

func TestTextFileLeavesNoTrace(t *testing.T) {
	s := textFile(t, JSONLines, "a\n")
	must(t, os.Chtimes(s.file.Local, testTime, testTime))
	hear(t, s)
	st, err := os.Stat(s.file.Local)
	must(t, err)
	left, err := os.ReadDir(filepath.Dir(s.file.Local))
	must(t, err)
	if !st.ModTime().Equal(testTime) || len(left) != 1 {
		t.Errorf("mtime %v, beside it %v", st.ModTime(), left)
	}
}

// Each batch keeps its caps, and a line that fills one has it to itself.
func TestTextFileBatches(t *testing.T) {
	big := strings.Repeat("x", batch.MaxBytes)
	for _, c := range []struct {
		in   string
		want []int64
	}{
		{strings.Repeat("a\n", batch.MaxRows), []int64{batch.MaxRows}},
		{strings.Repeat("a\n", batch.MaxRows+1), []int64{batch.MaxRows, 1}},
		{"a\n" + big[1:] + "\nb\n", []int64{2, 1}},
		{"a\n" + big + "\nb\n", []int64{1, 1, 1}},
	} {
		var got []int64
		for b, err := range inMemory(JSONLines, []byte(c.in)).Records(t.Context()) {
			must(t, err)
			got = append(got, b.NumRows())
			b.Release()
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Error(d)
		}
	}
}

func TestTextFileContext(t *testing.T) {
	content := bytes.Repeat([]byte("line\n"), 10*batch.MaxRows)
	for _, mode := range []TextMode{JSONLines, Document} {
		ctx, cancel := context.WithCancel(t.Context())
		s := inMemory(mode, content)
		mem := memory.NewCheckedAllocator(batchtest.Poison{})
		s.opt.Mem = mem
		if mode == Document {
			cancel()
		}
		batches, failed := 0, error(nil)
		for b, err := range s.Records(ctx) {
			if failed != nil {
				t.Error("something comes after the error")
			}
			if failed = err; err == nil {
				batches++
				b.Release()
				cancel()
			}
		}
		cancel()
		if !errors.Is(failed, context.Canceled) || fault.KindOf(failed) != fault.Source {
			t.Errorf("mode %d: ended with %v", mode, failed)
		}
		// The buffer of the lines holds 6.4 batches.
		if mode == Document && batches > 0 || batches > 7 {
			t.Errorf("mode %d: %d batches", mode, batches)
		}
		if got := s.Report().SHA256; got != "" {
			t.Errorf("mode %d: SHA-256 %q of a part", mode, got)
		}
		mem.AssertSize(t, 0)
	}
}

// A consumer that has enough ends the reading, without an error.
func TestTextFileStops(t *testing.T) {
	s := inMemory(JSONLines, bytes.Repeat([]byte("line\n"), 100*batch.MaxRows))
	mem := memory.NewCheckedAllocator(batchtest.Poison{})
	s.opt.Mem = mem
	for b, err := range s.Records(t.Context()) {
		must(t, err)
		b.Release()
		break
	}
	if got := s.Report(); got.Records != batch.MaxRows || got.SHA256 != "" || got.Size > 1<<20 {
		t.Errorf("%+v", got)
	}
	mem.AssertSize(t, 0)
}

func TestLongLine(t *testing.T) {
	if testing.Short() {
		t.Skip("100 MB")
	}
	long := bytes.Repeat([]byte("0123456789"), 10_000_000)
	s := inMemory(JSONLines, append(append([]byte("a\n"), long...), "\nb\n"...))
	next := int64(1)
	for b, err := range s.Records(t.Context()) {
		must(t, err)
		numbers, texts := b.Column(0).(*array.Int64), b.Column(1).(*array.String)
		for i := range int(b.NumRows()) {
			if numbers.Value(i) != next || next == 2 && texts.Value(i) != string(long) {
				t.Errorf("line %d of %d bytes", numbers.Value(i), len(texts.Value(i)))
			}
			next++
		}
		b.Release()
	}
	if got := s.Report(); got.Records != 3 || got.Status != Read {
		t.Errorf("%+v", got)
	}
}

// naiveLines is what JSONLines has of a file, told another way.
func naiveLines(content string) []string {
	var want []string
	all := strings.Split(content, "\n")
	for i, text := range all {
		text, _ = values.CleanUTF8(text)
		text = strings.TrimFunc(text, unicode.IsSpace)
		if i == 0 {
			text = strings.TrimFunc(strings.TrimPrefix(text, "\ufeff"), unicode.IsSpace)
		}
		if text == "" {
			continue
		}
		line := fmt.Sprintf("%d %q", i+1, text)
		if i == len(all)-1 {
			line += " cut"
		}
		want = append(want, line)
	}
	return want
}

func checkJSONLines(t failer, content []byte) {
	t.Helper()
	got := hear(t, inMemory(JSONLines, content))
	if d := cmp.Diff(naiveLines(string(content)), got.Lines); d != "" {
		t.Errorf("%q: %s", content, d)
	}
	want := Report{Status: Read, Size: int64(len(content)), SHA256: sha(string(content)), Records: int64(len(got.Lines))}
	if len(content) == 0 {
		want.Status = Empty
	}
	if d := cmp.Diff(want, got.Report); d != "" {
		t.Errorf("%q: %s", content, d)
	}
}

func TestJSONLinesProperty(t *testing.T) {
	part := rapid.OneOf(
		rapid.SampledFrom([]string{
			"\n", "\n", "\n", "\r", " ", "\t", "\ufeff", "\u0085", "\u00a0", "\u2028", "\u3000", "\x00", "{}", "é",
			"\x80", "\x85", "\xa0", "\xc2", "\xe2\x80", "\xe3\x80", "\xef\xbb", "\xf0\x9f", "\xed\xa0\x80",
		}),
		rapid.Map(rapid.Byte(), func(b byte) string { return string([]byte{b}) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		checkJSONLines(t, []byte(strings.Join(rapid.SliceOf(part).Draw(t, "parts"), "")))
	})
}

func FuzzJSONLines(f *testing.F) {
	f.Fuzz(func(t *testing.T, content []byte) { checkJSONLines(t, content) })
}

// FuzzHistory writes an entry as rustyline does and reads it back, and reads
// what it is given as a whole history.
func FuzzHistory(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		hear(t, inMemory(History, []byte(text)))
		escaped := strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), "\n", `\n`)
		if text == "" || strings.HasSuffix(escaped, "\r") {
			return // not added; not told from the end of a line
		}
		clean, _ := values.CleanUTF8(text)
		got := hear(t, inMemory(History, []byte("#V2\n"+escaped+"\n")))
		if d := cmp.Diff([]string{fmt.Sprintf("2 %q", clean)}, got.Lines); d != "" {
			t.Errorf("%q: %s", text, d)
		}
		if plain := strings.ReplaceAll(text, "\n", " "); plain != historyHeader && plain != "\r" {
			got = hear(t, inMemory(History, []byte(plain)))
			clean, _ = values.CleanUTF8(plain)
			if d := cmp.Diff([]string{fmt.Sprintf("1 %q cut", clean)}, got.Lines); d != "" {
				t.Errorf("%q without a header: %s", plain, d)
			}
		}
	})
}

func BenchmarkJSONLines(b *testing.B) {
	for _, size := range []int{100, 2_000, 1_000_000} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			line := append(bytes.Repeat([]byte(`{"text":"é"}`), size/13), '\n')
			content := bytes.Repeat(line, 64<<20/len(line))
			local := filepath.Join(b.TempDir(), "text")
			if err := os.WriteFile(local, content, 0o600); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				s := NewTextFile(&Home{}, &File{Local: local, Status: Read}, JSONLines, SourceOptions{})
				drain(b, s.Records(b.Context()))
			}
		})
	}
}

func drain(b *testing.B, records func(func(arrow.RecordBatch, error) bool)) {
	for rec, err := range records {
		if err != nil {
			b.Fatal(err)
		}
		rec.Release()
	}
}
