package parquet

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"golang.org/x/sync/errgroup"

	"gander/schemas"
	"gander/schemas/fault"
)

// Caps of a row group, which ends with the row that reaches either. A row
// counts 8 bytes per number and time, 1 per flag, 4 and its length per text, 4
// per list and 4 per element, NULL or not.
const (
	GroupRows  = 122_880
	GroupBytes = 64 << 20
)

// DataFile is the name of every table's file.
const DataFile = "data.parquet"

// DefaultBudget leaves one table its full row group and the others half as much.
const DefaultBudget = GroupBytes + GroupBytes/2

// Options of a Writer. The zero value is the default.
type Options struct {
	// Budget caps the rows of unfinished row groups over all tables, in bytes as
	// counted for GroupBytes; DefaultBudget when 0.
	Budget int64
	// Mem allocates the encoding buffers, from several goroutines, and need not
	// clear them; memory.DefaultAllocator when nil.
	Mem memory.Allocator
}

// File is a finished file.
type File struct {
	Table  string `json:"table"`
	Path   string `json:"path"` // relative, with slashes
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of the file's bytes, lower-case hex
}

// Writer writes the tables of one home. It ends with Close or Abort; Abort
// after either does nothing, so that it can be deferred. A Writer is for one
// goroutine.
type Writer struct {
	dir    string
	opts   Options
	tables map[string]*tableFile
	held   int64 // bytes of all unfinished row groups
	sizes  []int64
	err    error // sticky: what is on disk cannot be completed
}

// NewWriter returns a Writer of <dir>/<table>/data.parquet. Nothing is made on
// disk before the first row.
func NewWriter(dir string, opts Options) *Writer {
	if opts.Budget == 0 {
		opts.Budget = DefaultBudget
	}
	if opts.Mem == nil {
		opts.Mem = memory.DefaultAllocator
	}
	return &Writer{dir: dir, opts: opts, tables: map[string]*tableFile{}}
}

var errDone = &fault.Error{Kind: fault.Internal, Op: "write parquet", Err: errors.New("the writer is closed")}

// Write appends the rows of a batch to the file of its table (schemas.NameOf).
// The caller keeps and releases the batch; its memory may be held until the
// file has fewRows, or Close. A batch of another table than those of
// schemas.Tables, or of another shape, is refused. After an error the Writer
// can only be aborted.
func (w *Writer) Write(rec arrow.RecordBatch) error {
	if w.err != nil {
		return w.err
	}
	w.err = w.write(rec)
	return w.err
}

func (w *Writer) write(rec arrow.RecordBatch) error {
	t, err := w.table(rec)
	if err != nil || t == nil {
		return err
	}
	w.sizes = rowSizes(w.sizes, rec)
	for at, n := int64(0), rec.NumRows(); at < n; {
		end, size := at, int64(0)
		for end < n && size < pageBytes && !full(t.groupRows+end-at, t.groupBytes+size) {
			size += w.sizes[end]
			end++
		}
		t.groupRows += end - at
		t.groupBytes += size
		w.held += size
		err := t.add(rec.NewSlice(at, end))
		at = end

		switch {
		case err != nil:
		case full(t.groupRows, t.groupBytes):
			err = w.flush(t)
		case w.held > w.opts.Budget:
			err = w.flush(w.largest())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func full(rows, bytes int64) bool { return rows >= GroupRows || bytes >= GroupBytes }

// table returns the open file a batch belongs to, nil for a batch without rows.
func (w *Writer) table(rec arrow.RecordBatch) (*tableFile, error) {
	name := schemas.NameOf(rec.Schema())
	t := w.tables[name]
	if t == nil {
		decl := schemas.Lookup(name)
		if decl == nil {
			return nil, &fault.Error{Kind: fault.Internal, Op: "write parquet", Err: errors.New("no written table is named " + name)}
		}
		t = &tableFile{decl: decl, schema: decl.Arrow(), path: filepath.Join(w.dir, name, DataFile), mem: w.opts.Mem}
	}
	if !rec.Schema().Equal(t.schema) {
		return nil, &fault.Error{Kind: fault.Internal, Op: "write parquet", Path: t.path, Err: errors.New("the batch has not the declared columns of " + name)}
	}
	if rec.NumRows() == 0 {
		return nil, nil
	}
	w.tables[name] = t // also when open fails half-way, for Abort
	return t, nil
}

// largest returns the table that holds most of the budget.
func (w *Writer) largest() *tableFile {
	var best *tableFile
	for _, decl := range schemas.Tables() { // in order: the same input gives the same files
		if t := w.tables[decl.Name]; t != nil && (best == nil || t.groupBytes > best.groupBytes) {
			best = t
		}
	}
	return best
}

// flush writes what t holds as a row group.
func (w *Writer) flush(t *tableFile) error {
	w.held -= t.groupBytes
	return t.flush()
}

// Close finishes every file and describes it, in the order of schemas.Tables;
// who commits the files makes them durable. On an error it aborts.
func (w *Writer) Close() ([]File, error) {
	if w.err != nil {
		err := w.err
		w.Abort()
		return nil, err
	}
	files := make([]File, 0, len(w.tables))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, decl := range schemas.Tables() {
		t := w.tables[decl.Name]
		if t == nil {
			continue
		}
		files = append(files, File{})
		file := &files[len(files)-1]
		group.Go(func() (err error) {
			// On a goroutine of its own a panic of the encoder would end the program.
			defer func() {
				if p := recover(); p != nil {
					err = t.wrap(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
				}
			}()
			*file, err = t.finish()
			return err
		})
	}
	if err := group.Wait(); err != nil {
		w.Abort()
		return nil, err
	}
	w.tables, w.err = nil, errDone
	return files, nil
}

// Abort closes and removes every file. The directory given to NewWriter stays.
func (w *Writer) Abort() {
	for _, t := range w.tables {
		t.abort()
	}
	w.tables, w.err = nil, errDone
}

// fewRows and fewBytes, as counted for GroupBytes, are what a file holds that is
// written as a whole: without dictionaries, each of which is one more page to
// make and to read.
const (
	fewRows  = 1024
	fewBytes = 1 << 20
)

// tableFile is one table's file and the row group that is being filled.
type tableFile struct {
	decl   *schemas.Table
	schema *arrow.Schema
	path   string
	mem    memory.Allocator
	first  []arrow.RecordBatch // rows of a file that is not begun yet
	f      *os.File
	out    *sink
	fw     *file.Writer
	rows   int64 // in finished groups

	group      *group // nil between two
	groupRows  int64
	groupBytes int64
}

// add adds the rows of rec, which it releases, to the row group. They are
// counted already.
func (t *tableFile) add(rec arrow.RecordBatch) error {
	if t.f == nil {
		t.first = append(t.first, rec)
		if t.groupRows < fewRows && t.groupBytes < fewBytes {
			return nil
		}
		return t.begin(true)
	}
	defer rec.Release()
	return t.encode(rec)
}

// begin makes the file and encodes the rows that waited for it.
func (t *tableFile) begin(dictionaries bool) error {
	if err := t.open(dictionaries); err != nil {
		return err
	}
	defer t.drop()
	for _, rec := range t.first {
		if err := t.encode(rec); err != nil {
			return err
		}
	}
	return nil
}

// drop forgets the rows that wait.
func (t *tableFile) drop() {
	for _, rec := range t.first {
		rec.Release()
	}
	t.first = nil
}

func (t *tableFile) open(dictionaries bool) error {
	dir := filepath.Dir(t.path)
	if err := mkdir(dir); err != nil {
		return outputError("create directory", dir, err)
	}
	f, err := create(t.path)
	if err != nil {
		return outputError("create file", t.path, err)
	}
	t.f = f
	t.out = &sink{w: bufio.NewWriterSize(f, 8<<10), hash: sha256.New()}
	t.fw, err = newFile(t.decl, t.out, dictionaries, t.mem)
	return t.wrap(err)
}

// encode adds the rows of rec to the row group.
func (t *tableFile) encode(rec arrow.RecordBatch) (err error) {
	if t.group == nil {
		if t.group, err = newGroup(t.fw); err != nil {
			return t.wrap(err)
		}
	}
	return t.wrap(t.group.write(rec))
}

// flush writes the row group to the file.
func (t *tableFile) flush() error {
	if t.f == nil {
		if err := t.begin(true); err != nil {
			return err
		}
	}
	if t.group == nil {
		return nil
	}
	err := t.group.Close()
	t.rows += t.groupRows
	t.group, t.groupRows, t.groupBytes = nil, 0, 0
	return t.wrap(err)
}

func (t *tableFile) finish() (File, error) {
	if t.f == nil {
		if err := t.begin(false); err != nil {
			return File{}, err
		}
	}
	if err := t.flush(); err != nil {
		return File{}, err
	}
	if err := t.wrap(t.fw.Close()); err != nil {
		return File{}, err
	}
	if err := errors.Join(t.out.w.Flush(), t.f.Close()); err != nil {
		return File{}, outputError("write file", t.path, err)
	}
	return File{
		Table:  t.decl.Name,
		Path:   path.Join(t.decl.Name, DataFile),
		Rows:   t.rows,
		Bytes:  t.out.n,
		SHA256: hex.EncodeToString(t.out.hash.Sum(nil)),
	}, nil
}

func (t *tableFile) abort() {
	t.drop()
	if t.fw != nil {
		t.out.w.Reset(io.Discard) // Close is for the encoder's buffers only
		t.fw.Close()
	}
	if t.f != nil {
		t.f.Close()
		os.Remove(t.path)
	}
	os.Remove(filepath.Dir(t.path)) // only when nothing else is in it
}

// wrap tells a disk that refuses bytes from data that cannot be encoded.
func (t *tableFile) wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case t.out != nil && t.out.err != nil:
		return outputError("write file", t.path, t.out.err)
	}
	return &fault.Error{Kind: fault.Internal, Op: "encode parquet", Path: t.path, Err: err}
}

// sink counts and hashes what goes to a file.
type sink struct {
	w    *bufio.Writer
	hash hash.Hash
	n    int64
	err  error // first error of w
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.hash.Write(p[:n])
	s.n += int64(n)
	if err != nil && s.err == nil {
		s.err = err
	}
	return n, err
}

// rowSizes fills sizes with the bytes of each row, as counted for GroupBytes.
func rowSizes(sizes []int64, rec arrow.RecordBatch) []int64 {
	n := int(rec.NumRows())
	if cap(sizes) < n {
		sizes = make([]int64, n)
	}
	sizes = sizes[:n]
	clear(sizes)
	fixed := int64(0)
	for _, col := range rec.Columns() {
		switch a := col.(type) {
		case *array.String:
			fixed += 4
			for i := range sizes {
				sizes[i] += int64(a.ValueLen(i))
			}
		case *array.List:
			fixed += 4
			for i := range sizes {
				start, end := a.ValueOffsets(i)
				sizes[i] += 4 * (end - start)
			}
		case *array.Boolean:
			fixed++
		default:
			fixed += 8
		}
	}
	for i := range sizes {
		sizes[i] += fixed
	}
	return sizes
}
