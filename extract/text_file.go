package extract

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gander/extract/internal/homefs"
	"gander/extract/internal/lines"
	"gander/schemas"
	"gander/schemas/batch"
	"gander/schemas/fault"
	"gander/schemas/values"
)

// TextMode tells what the pieces of a text file are.
type TextMode uint8

const (
	// JSONLines has a piece per line: the line without White_Space at both ends
	// and, on line 1, without a byte order mark. A line of which nothing is left
	// is none.
	JSONLines TextMode = iota + 1
	// History has a piece per entry of a history that rustyline wrote. After a
	// first line #V2, the header, `\\` stands for a backslash and `\n` for a
	// line break; every other backslash stands for itself, as all do in a file
	// without the header. One CR at the end of a line is cut and an empty line
	// is no entry; spaces stay. So does a byte order mark: rustyline takes it
	// for a part of the first line too, which is then no header.
	History
	// Document has one piece, the whole text without a byte order mark. It is
	// had whole or not at all: no piece comes of a file that cannot be read to
	// its end or is larger than 64 MiB.
	Document
)

const (
	maxLine     = 1 << 30  // bytes of a line, also as UTF-8
	maxDocument = 64 << 20 // bytes of a Document as stored
)

const byteOrderMark = "\uFEFF"

// TextFileSource reads a text file once, from its beginning to its end: as
// schemas.RawLines in the order of lines, with schemas.RawIssues in between.
// The issues are
//
//   - invalid_utf8: a piece holds U+FFFD for what is not UTF-8;
//   - line_too_long: a line of more than 1 GiB is left out, where a byte that
//     is not UTF-8 counts for three; the file is partial;
//   - changed_while_reading: size or mtime moved; the file is partial, unless
//     it is live, where that is no issue;
//   - bad_file: the file, or its rest, cannot be read. What came before stays
//     and makes it partial, the last line cut off; otherwise it is unreadable.
//
// Memory beside the batches: a few times the longest line or the Document,
// whatever the size of the file.
type TextFileSource struct {
	home   *Home
	file   *File
	mode   TextMode
	opt    SourceOptions
	report Report

	open                 func(local string) (fs.File, error)
	maxLine, maxDocument int
}

// NewTextFile returns the source of a text file.
func NewTextFile(home *Home, file *File, mode TextMode, opt SourceOptions) *TextFileSource {
	if opt.Mem == nil {
		opt.Mem = memory.DefaultAllocator
	}
	return &TextFileSource{
		home: home, file: file, mode: mode, opt: opt,
		report: Report{Status: file.Status, Note: file.Note, Size: file.Size, SHA256: file.SHA256},
		open:   openText, maxLine: maxLine, maxDocument: maxDocument,
	}
}

// openText opens evidence and copies of it alike: neither is ever anything but
// a regular file.
func openText(local string) (fs.File, error) {
	f, err := homefs.OpenEvidence(local)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Report implements Source. Records is -1 for a Document that was yielded: how
// many records it holds is for its reader to say. Of a live file that grew,
// Size and SHA256 are of what was read.
func (s *TextFileSource) Report() Report { return s.report }

// Records implements Source.
func (s *TextFileSource) Records(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return stream(s.file, s.opt.Mem, func(out *batch.Set) error {
		err := s.read(ctx, out)
		if err == nil || errors.Is(err, errStopped) {
			return err
		}
		return &fault.Error{
			Kind: fault.Source, Op: "read file", Home: s.home.ID, Source: string(s.file.Store), Path: s.file.Path, Err: err,
		}
	})
}

// read reads the file. The error is errStopped or that of ctx.
func (s *TextFileSource) read(ctx context.Context, out *batch.Set) error {
	s.report = Report{Status: Read, Size: s.file.Size, SHA256: s.file.SHA256}
	r := &textReader{source: s, out: out}
	if s.file.Note != "" {
		r.reasons = append(r.reasons, s.file.Note)
	}
	if s.file.Cut {
		r.partial("cut off in the archive")
	}
	err := r.read(ctx)
	s.report.Note = strings.Join(r.reasons, "; ")
	return err
}

// textReader is one reading of a text file.
type textReader struct {
	source  *TextFileSource
	out     *batch.Set
	reasons []string // of the report's note
	escaped bool     // History: the header was there
}

func (r *textReader) read(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := r.source.open(r.source.file.Local)
	if err != nil {
		r.unreadable(err)
		return nil
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		r.unreadable(err)
		return nil
	}

	in := &meter{ctx: ctx, r: f, sum: sha256.New()}
	if r.source.mode == Document {
		err = r.document(in)
	} else {
		err = r.lines(in)
	}
	report := &r.source.report
	switch {
	case errors.Is(err, errTooLarge):
		report.Size = before.Size()
		r.unreadable(err)
		return nil
	case err != nil:
		report.Size, report.SHA256 = in.n, ""
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, errStopped) {
			return err
		}
		r.unreadable(err)
		return nil
	}
	report.Size, report.SHA256 = in.n, hex.EncodeToString(in.sum.Sum(nil))
	if !r.source.file.Live && changed(f, before) {
		report.SHA256 = ""
		r.issue("changed_while_reading", "the file changed while it was read", nil, 0)
		r.partial("changed while it was read")
	}
	if in.n == 0 && report.Status == Read {
		report.Status = Empty
	}
	return r.more()
}

// changed reports that a file is no longer what it was before it was read, or
// cannot be asked.
func changed(f fs.File, before fs.FileInfo) bool {
	after, err := f.Stat()
	return err != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime())
}

// lines reads a file of lines. The error is errStopped or that of in.
func (r *textReader) lines(in io.Reader) error {
	piece := r.jsonLine
	if r.source.mode == History {
		piece = r.entry
	}
	reader := lines.NewReader(in, r.source.maxLine)
	for line, ok := reader.Next(); ok; line, ok = reader.Next() {
		if line.TooLong {
			r.tooLong(line.Number)
		} else if text := piece(line); len(text) > 0 {
			r.line(line, text)
		}
		if err := r.more(); err != nil {
			return err
		}
	}
	return reader.Err()
}

// jsonLine returns what JSONLines has of a line.
func (r *textReader) jsonLine(line lines.Line) []byte {
	text := bytes.TrimFunc(line.Text, values.IsSpace)
	if line.Number == 1 {
		text = bytes.TrimFunc(bytes.TrimPrefix(text, []byte(byteOrderMark)), values.IsSpace)
	}
	return text
}

// historyHeader is the first line of a history whose entries are escaped.
const historyHeader = "#V2"

// entry returns what History has of a line.
func (r *textReader) entry(line lines.Line) []byte {
	text := bytes.TrimSuffix(line.Text, []byte{'\r'})
	if line.Number == 1 && string(text) == historyHeader {
		r.escaped = true
		return nil
	}
	if r.escaped {
		text = unescape(text)
	}
	return text
}

// unescape undoes the escapes of an entry: `\\` and `\n`, no other. An entry
// without a backslash comes back as it is.
func unescape(text []byte) []byte {
	i := bytes.IndexByte(text, '\\')
	if i < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for ; i >= 0; i = bytes.IndexByte(text, '\\') {
		out = append(out, text[:i]...)
		text = text[i+1:]
		switch {
		case len(text) > 0 && text[0] == '\\':
			out, text = append(out, '\\'), text[1:]
		case len(text) > 0 && text[0] == 'n':
			out, text = append(out, '\n'), text[1:]
		default:
			out = append(out, '\\')
		}
	}
	return append(out, text...)
}

// line yields a line's piece. Its bytes are still the file's.
func (r *textReader) line(line lines.Line, text []byte) {
	const size = len("\uFFFD") // what an invalid byte becomes at most
	if len(text) > r.source.maxLine/size && len(text)+(size-1)*invalidBytes(text) > r.source.maxLine {
		r.tooLong(line.Number)
		return
	}
	r.piece(line.Number, text, line.Cut)
}

// invalidBytes counts the bytes that are part of no character.
func invalidBytes(text []byte) int {
	n := 0
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		if c == utf8.RuneError && size == 1 {
			n++
		}
		text = text[size:]
	}
	return n
}

func (r *textReader) tooLong(number int64) {
	r.issue("line_too_long", fmt.Sprintf("the line has more than %d bytes and is left out", r.source.maxLine), nil, number)
	r.partial(fmt.Sprintf("lines of more than %d bytes are left out", r.source.maxLine))
}

// errTooLarge says that a Document is over its bound.
var errTooLarge = errors.New("too large")

// document reads a Document. The error is errTooLarge or that of in.
func (r *textReader) document(in io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(in, int64(r.source.maxDocument)+1))
	if err != nil {
		return err
	}
	if len(text) > r.source.maxDocument {
		return fmt.Errorf("%w: more than %d bytes", errTooLarge, r.source.maxDocument)
	}
	if len(text) == 0 {
		return nil
	}
	r.piece(1, bytes.TrimPrefix(text, []byte(byteOrderMark)), false)
	r.source.report.Records = -1
	return nil
}

// piece adds a row of raw.lines, with an issue when it is not as it is stored.
func (r *textReader) piece(number int64, text []byte, cut bool) {
	valid, clean, size := utf8.Valid(text), "", len(text)
	if !valid {
		clean, _ = values.CleanUTF8(string(text))
		size = len(clean)
		r.issue("invalid_utf8", "the text is not UTF-8", &clean, number)
	}
	w := r.table(schemas.RawLines, size)
	w.Int(number)
	if valid {
		w.Bytes(text)
	} else {
		w.Text(clean)
	}
	w.Bool(cut)
	w.End()
	r.source.report.Records++
}

// issue adds a row of raw.issues. value is nil where no value is concerned; a
// line of 0 stands for none.
func (r *textReader) issue(code, message string, value *string, number int64) {
	size := 0
	if value != nil {
		size = len(*value)
	}
	w := r.table(schemas.RawIssues, size)
	w.Text(code)
	w.Text(message)
	if value == nil {
		w.Null()
	} else {
		w.Text(*value)
	}
	w.Null()
	w.OptInt(number, number != 0)
	w.End()
}

// table returns a table's writer for a row with a text of size bytes: one that
// fills a batch gets its own, for a buffer that has to grow doubles.
func (r *textReader) table(t *schemas.Table, size int) *batch.Writer {
	w := r.out.Table(t)
	if size >= batch.MaxBytes {
		w.Flush()
	}
	return w
}

// unreadable ends the reading at an error of the file.
func (r *textReader) unreadable(err error) {
	// The path in it is where the bytes are now, not where they come from.
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	message, _ := values.CleanUTF8(err.Error())
	r.issue("bad_file", message, nil, 0)
	r.partial(message)
	if r.source.report.Records == 0 {
		r.source.report.Status = Unreadable
	}
}

// partial marks the file as read in part, for a short reason.
func (r *textReader) partial(reason string) {
	r.source.report.Status = Partial
	if !slices.Contains(r.reasons, reason) {
		r.reasons = append(r.reasons, reason)
	}
}

// more returns why the reading ends, nil when it goes on.
func (r *textReader) more() error {
	if r.out.Stopped() {
		return errStopped
	}
	return nil
}

// meter hashes and counts what is read through it, and ends when ctx does.
type meter struct {
	ctx context.Context
	r   io.Reader
	sum hash.Hash
	n   int64
}

func (m *meter) Read(p []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := m.r.Read(p)
	m.sum.Write(p[:n])
	m.n += int64(n)
	return n, err
}
