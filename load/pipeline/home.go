package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gander/extract"
	"gander/load/parquet"
	"gander/load/warehouse"
	"gander/schemas"
	"gander/schemas/batch"
	"gander/schemas/fault"
	"gander/transform"
)

// StoreResult sums up one store of one or more homes.
type StoreResult struct {
	Store      extract.Store            `json:"store"`
	Statuses   map[extract.Status]int64 `json:"statuses"` // rows of sources by status
	Records    int64                    `json:"records"`
	Events     int64                    `json:"events"`
	Duplicates int64                    `json:"duplicates"`
	Issues     int64                    `json:"issues"`
	Bytes      int64                    `json:"bytes"` // of the files read, with their write-ahead logs
}

// Problem is a file or home that makes a run exit 1.
type Problem struct {
	HomeID string `json:"home_id"`
	Path   string `json:"path,omitempty"`
	Status string `json:"status"` // a status of sources, or a code of issues
	Note   string `json:"note,omitempty"`
}

// HomeResult tells what became of a home.
type HomeResult struct {
	HomeID   string           `json:"home_id"`
	Stores   []StoreResult    `json:"stores"`
	Rows     map[string]int64 `json:"rows"` // by table
	Bad      int64            `json:"bad_records"`
	Problems []Problem        `json:"problems,omitempty"`
}

// home is the commit of one home in the making.
type home struct {
	r      *Runner
	job    Job
	writer *writer
	own    *batch.Set // rows that pipeline itself writes
	failed error      // first error of the writer inside own
	stores map[extract.Store]*StoreResult
	rows   map[string]int64
	bad    int64
	found  []Problem
	events int64 // rows of events and of dedup_links that tallies promise
	links  int64
	told   int64 // bytes of the present file that the observer knows of
	// overlap remembers what files have in common while they are read.
	overlap *transform.Overlap
}

// finished is a home that is wholly written and waits for its commit.
type finished struct {
	result HomeResult
	commit warehouse.Commit
}

// finish reads one home into a stage. A home that cannot be finished leaves
// nothing behind.
func (r *Runner) finish(ctx context.Context, job Job) (f finished, err error) {
	defer func() {
		// A bug in a parser must cost the home that shows it, not the others.
		if p := recover(); p != nil {
			err = &fault.Error{Kind: fault.Internal, Op: "read home", Home: job.Home.ID, Err: panicError(p)}
		}
	}()
	stage, err := r.Warehouse.Stage(job.Home.ID)
	if err != nil {
		return finished{}, err
	}
	defer func() {
		if f.commit.Stage == nil {
			err = errors.Join(err, stage.Abort())
		}
	}()
	h := &home{r: r, job: job, writer: newWriter(parquet.NewWriter(stage.Dir(), parquet.Options{Mem: r.mem()})),
		stores: map[extract.Store]*StoreResult{}, rows: map[string]int64{}}
	defer h.writer.Abort()
	h.own = batch.NewSet(r.mem(), func(rec arrow.RecordBatch) bool {
		h.failed = h.write(rec)
		return h.failed == nil
	})
	defer h.own.Release()

	if err := h.read(ctx); err != nil {
		return finished{}, err
	}
	files, err := h.writer.Close()
	if err != nil {
		return finished{}, err
	}
	if err := h.reconcile(files); err != nil {
		return finished{}, err
	}
	result := h.result()
	summary, err := json.Marshal(result)
	if err != nil {
		return finished{}, err
	}
	return finished{result, warehouse.Commit{Stage: stage, Manifest: warehouse.Manifest{
		RunID: r.RunID, GanderVersion: r.Version, CommittedAt: r.now().UTC(), Files: files, Summary: summary,
	}}}, nil
}

func panicError(p any) error { return fmt.Errorf("panic: %v\n%s", p, debug.Stack()) }

// recovered turns a panic into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = panicError(p)
	}
}

// write passes a batch to its Parquet file, which owns it then.
func (h *home) write(rec arrow.RecordBatch) error {
	h.rows[schemas.NameOf(rec.Schema())] += rec.NumRows()
	h.r.observe().Rows(rec.NumRows())
	return h.writer.Write(rec)
}

func (h *home) read(ctx context.Context) error {
	h.homeRows()
	if err := h.readFiles(ctx); err != nil {
		return err
	}
	seen := map[extract.Store]bool{}
	for i := range h.job.Home.Files {
		f := &h.job.Home.Files[i]
		// Another database beside sessions.db is not the store.
		seen[f.Store] = seen[f.Store] || f.Status != extract.NotRead
	}
	for _, store := range extract.Stores() {
		if !seen[store] {
			h.sourceRow(&extract.File{Store: store, Status: extract.Absent, Size: -1}, extract.Report{Status: extract.Absent, Size: -1}, transform.Tally{})
		}
	}
	for _, is := range h.job.Home.Issues {
		h.issueRow(is)
	}
	h.found = append(h.found, Problems(h.job.Home.ID, h.job.Home.Issues)...)
	h.own.Flush()
	return h.failed
}

// drain writes what a transform yields. It ends with the overlap's error, when
// there is one: what comes then rests on answers that are not true.
func (h *home) drain(tables iter.Seq2[arrow.RecordBatch, error]) error {
	for rec, err := range tables {
		if err == nil {
			err = h.write(rec)
		}
		if failed := h.overlap.Err(); failed != nil {
			return failed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// homeRows writes the home and those it supersedes.
func (h *home) homeRows() {
	row := func(x *extract.Home, by string) {
		layouts := make([]string, len(x.Layouts))
		for i, l := range x.Layouts {
			layouts[i] = string(l)
		}
		o := h.own.Table(schemas.Homes)
		o.Text(x.Host)
		o.Text(x.User)
		o.Text(x.Path)
		o.Text(strings.Join(layouts, "+"))
		o.Text(x.Input)
		o.Text(string(x.Kind))
		o.Time(x.CollectedAt)
		o.Bool(x.Inferred)
		o.TextOrNull(by)
		o.End()
	}
	row(&h.job.Home, "")
	for i := range h.job.Superseded {
		s := &h.job.Superseded[i]
		row(&s.Home, s.By)
		if len(s.LacksStores) > 0 {
			names := make([]string, len(s.LacksStores))
			for i, store := range s.LacksStores {
				names[i] = string(store)
			}
			h.found = append(h.found, Problem{HomeID: h.job.Home.ID, Path: s.Home.Input, Status: "home_superseded",
				Note: "only the input that was not read has a file of " + strings.Join(names, ", ")})
		}
	}
}

// failing are the statuses of sources that make a run exit 1.
var failing = map[extract.Status]bool{
	extract.Partial: true, extract.Missing: true, extract.Unreadable: true, extract.Malformed: true, extract.SkippedSize: true,
}

// sourceRow writes the row of sources about a file and adds it to the sums.
func (h *home) sourceRow(f *extract.File, report extract.Report, tally transform.Tally) {
	issues := tally.Issues
	for _, is := range h.job.Home.Issues {
		if is.Store == f.Store && is.Path == f.Path && f.Path != "" {
			issues++
		}
	}
	companion := func(c *extract.Companion) (int64, bool) {
		if c == nil {
			return 0, false
		}
		return c.Size, c.Size >= 0
	}
	o := h.own.Table(schemas.Sources)
	o.TextOrNull(string(f.Store)) // projects.json is of no store
	o.TextOrNull(f.Path)
	o.Text(string(report.Status))
	o.OptInt(report.Size, report.Size >= 0)
	o.OptInt(companion(f.WAL))
	o.OptInt(companion(f.Journal))
	o.Time(f.MTime)
	o.TextOrNull(report.SHA256)
	o.OptInt(report.SchemaVersion.V, report.SchemaVersion.OK)
	o.TextOrNull(report.Integrity)
	o.Int(tally.Records())
	o.Int(tally.Events)
	o.Int(tally.Duplicates)
	o.Int(issues)
	o.TextOrNull(report.Note)
	o.End()

	sum := h.stores[f.Store]
	if sum == nil {
		sum = &StoreResult{Store: f.Store, Statuses: map[extract.Status]int64{}}
		h.stores[f.Store] = sum
	}
	sum.Statuses[report.Status]++
	sum.Records += tally.Records()
	sum.Events += tally.Events
	sum.Duplicates += tally.Duplicates
	sum.Issues += issues
	if report.Status == extract.Read || report.Status == extract.Partial {
		sum.Bytes += f.Bytes()
	}
	h.bad += tally.Bad
	h.events += tally.Events
	h.links += tally.Duplicates
	if failing[report.Status] {
		h.found = append(h.found, Problem{HomeID: h.job.Home.ID, Path: f.Path, Status: string(report.Status), Note: report.Note})
	}
}

// failingIssues are the codes of findings about files that make a run exit 1
// though the file was read.
var failingIssues = map[string]bool{
	"archive_damaged": true, "hash_mismatch": true, "refused_member": true, "size_mismatch": true, "unreadable_directory": true,
}

// Problems returns those findings that make a run exit 1.
func Problems(homeID string, issues []extract.Issue) []Problem {
	var out []Problem
	for _, is := range issues {
		if failingIssues[is.Code] {
			out = append(out, Problem{HomeID: homeID, Path: is.Path, Status: is.Code, Note: is.Message})
		}
	}
	return out
}

func (h *home) issueRow(is extract.Issue) {
	o := h.own.Table(schemas.Issues)
	o.TextOrNull(string(is.Store))
	o.Text(is.Code)
	o.Text(is.Message)
	o.Null()
	o.Null()
	o.Null()
	o.TextOrNull(is.Path)
	o.Null()
	o.Null()
	o.End()
}

// reconcile compares what was promised with what the files hold.
func (h *home) reconcile(files []parquet.File) error {
	written := map[string]int64{}
	for _, f := range files {
		written[f.Table] += f.Rows
	}
	check := func(table string, want int64) error {
		if got := written[table]; got != want {
			return &fault.Error{Kind: fault.Internal, Op: "reconcile", Home: h.job.Home.ID,
				Err:  fmt.Errorf("%s has %d rows, %d were accounted for", table, got, want),
				Hint: "This is a fault of gander: the home was not committed. Please report it."}
		}
		return nil
	}
	for table, rows := range h.rows {
		if err := check(table, rows); err != nil {
			return err
		}
	}
	if err := check(schemas.Events.Name, h.events); err != nil {
		return err
	}
	return check("dedup_links", h.links)
}

func (h *home) result() HomeResult {
	r := HomeResult{HomeID: h.job.Home.ID, Rows: h.rows, Bad: h.bad, Problems: h.found}
	for _, store := range extract.Stores() {
		if s := h.stores[store]; s != nil {
			r.Stores = append(r.Stores, *s)
		}
	}
	return r
}

// spool is a file in scratch that is made when it is needed.
type spool struct {
	dir  string
	file *scratchFile
}

func (s *spool) open() (transform.Spool, error) {
	f, err := newScratchFile(s.dir, "spool-")
	if err != nil {
		return nil, err
	}
	s.file = f
	return f, nil
}

func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// newOverlap makes the overlap of a home; the caller closes it.
func (h *home) newOverlap() *transform.Overlap {
	o := transform.NewOverlap()
	if h.r.remember != nil {
		h.r.remember(o)
		return o
	}
	o.SpillTo(func() (transform.OverlapFile, error) { return newScratchFile(h.r.Warehouse.Scratch(), "overlap-") }, transform.OverlapInMemory)
	return o
}

// scratchFile is a file in scratch. What fails about it is an error of kind
// fault.Output.
type scratchFile struct{ file *os.File }

func newScratchFile(dir, prefix string) (*scratchFile, error) {
	f, err := os.CreateTemp(dir, prefix)
	if err != nil {
		return nil, warehouse.OutputError("make scratch file", dir, err)
	}
	return &scratchFile{f}, nil
}

func (f *scratchFile) Write(b []byte) (int, error) {
	n, err := f.file.Write(b)
	return n, warehouse.OutputError("write scratch file", f.file.Name(), err)
}

func (f *scratchFile) WriteAt(b []byte, at int64) (int, error) {
	n, err := f.file.WriteAt(b, at)
	return n, warehouse.OutputError("write scratch file", f.file.Name(), err)
}

func (f *scratchFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.file.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // nobody reads what was not written
	}
	return n, warehouse.OutputError("read scratch file", f.file.Name(), err)
}

func (f *scratchFile) Truncate(size int64) error {
	return warehouse.OutputError("write scratch file", f.file.Name(), f.file.Truncate(size))
}

// Close closes the file and removes it.
func (f *scratchFile) Close() error {
	err := errors.Join(f.file.Close(), os.Remove(f.file.Name()))
	return warehouse.OutputError("remove scratch file", f.file.Name(), err)
}

func (r *Runner) mem() memory.Allocator {
	if r.Mem != nil {
		return r.Mem
	}
	return &r.pool
}

func (r *Runner) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}
