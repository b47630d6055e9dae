package pipeline

import (
	"context"
	"errors"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"gander/extract"
	"gander/load/warehouse"
	"gander/schemas/batch"
	"gander/schemas/fault"
	"gander/transform"
)

// Job is a home to commit, with those of the same home_id that it supersedes.
type Job struct {
	Home       extract.Home
	Superseded []extract.Superseded
}

// size is what the job's files weigh, in bytes.
func (j *Job) size() int64 {
	var n int64
	for i := range j.Home.Files {
		n += j.Home.Files[i].Bytes()
	}
	return n
}

// Size returns what the files of all jobs weigh, in bytes.
func Size(jobs []Job) int64 {
	var n int64
	for i := range jobs {
		n += jobs[i].size()
	}
	return n
}

// Observer is told how a run goes on. Its methods are called from several
// goroutines and must not block.
type Observer interface {
	// Rows reports rows written, Bytes bytes of the input done with.
	Rows(n int64)
	Bytes(n int64)
	// Home reports that a home is committed, or why it is not.
	Home(id string, err error)
}

type silent struct{}

func (silent) Rows(int64)         {}
func (silent) Bytes(int64)        {}
func (silent) Home(string, error) {}

// Runner commits homes to a warehouse. Only Warehouse is required.
type Runner struct {
	Warehouse *warehouse.Warehouse
	RunID     string
	Version   string
	Workers   int // homes at a time; 0: one per processor
	// SkipDeleted leaves out the search for rows that databases no longer hold.
	SkipDeleted bool
	Mem         memory.Allocator // of record batches; one that all homes share when nil
	Now         func() time.Time
	Observer    Observer

	pool    batch.Pool
	reading atomic.Int64 // homes that are being read
	// remember, when set, tells an Overlap where its records go: tests have
	// them on disk, and disks that fail.
	remember func(*transform.Overlap)
}

func (r *Runner) observe() Observer {
	if r.Observer == nil {
		return silent{}
	}
	return r.Observer
}

// Failure is a home that could not be committed.
type Failure struct {
	HomeID string `json:"home_id"`
	Error  string `json:"error"`
	Hint   string `json:"hint,omitempty"`
}

// Summary is what a run did, summed over its homes.
type Summary struct {
	Homes      int64            `json:"homes"`            // committed
	Superseded int64            `json:"homes_superseded"` // not read: another input was newer
	Stores     []StoreResult    `json:"stores"`
	Rows       map[string]int64 `json:"rows"` // by table
	Bad        int64            `json:"bad_records"`
	Problems   []Problem        `json:"problems"`
	Failures   []Failure        `json:"failures"`
}

// Jobs makes a job of each home that is to be read, the largest first, so that
// no worker is left alone with a large one at the end.
func Jobs(opened *extract.Opened) []Job {
	jobs := make([]Job, len(opened.Homes))
	at := map[string]int{}
	for i, h := range opened.Homes {
		jobs[i].Home = h
		at[h.ID] = i
	}
	for _, s := range opened.Superseded {
		if i, ok := at[s.Home.ID]; ok {
			jobs[i].Superseded = append(jobs[i].Superseded, s)
		}
	}
	sort.SliceStable(jobs, func(i, j int) bool { return jobs[i].size() > jobs[j].size() })
	return jobs
}

// Run commits every job. A home that fails is in Summary.Failures and the run
// goes on; the error is for what ends the run: the warehouse cannot be
// written, or ctx is done. The summary counts what was committed either way.
func (r *Runner) Run(ctx context.Context, jobs []Job) (Summary, error) {
	workers := r.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var mu sync.Mutex
	sum := Summary{Rows: map[string]int64{}}
	stores := map[extract.Store]*StoreResult{}
	run := ctx
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	// ended counts a home, whose error is returned when it ends the run.
	ended := func(job Job, result HomeResult, err error) error {
		r.observe().Home(job.Home.ID, err)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			sum.Homes++
			sum.Superseded += int64(len(job.Superseded))
			sum.add(result, stores)
			return nil
		case run.Err() != nil || errors.Is(err, context.Canceled):
			return err
		case fault.KindOf(err) == fault.Output:
			return err
		}
		sum.Failures = append(sum.Failures, Failure{job.Home.ID, err.Error(), fault.HintOf(err)})
		return nil
	}
	commits := newCommitter(r.Warehouse)
	for _, job := range jobs {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r.reading.Add(1)
			f, err := r.finish(ctx, job)
			r.reading.Add(-1)
			if err != nil {
				return ended(job, f.result, err)
			}
			return commits.add(f, func(err error) error { return ended(job, f.result, err) })
		})
	}
	err := group.Wait()
	if failed := commits.close(); err == nil {
		err = failed
	}
	for _, store := range extract.Stores() {
		if s := stores[store]; s != nil {
			sum.Stores = append(sum.Stores, *s)
		}
	}
	sort.SliceStable(sum.Problems, func(i, j int) bool {
		a, b := sum.Problems[i], sum.Problems[j]
		return a.HomeID < b.HomeID || a.HomeID == b.HomeID && a.Path < b.Path
	})
	return sum, err
}

func (s *Summary) add(h HomeResult, stores map[extract.Store]*StoreResult) {
	for table, n := range h.Rows {
		s.Rows[table] += n
	}
	s.Bad += h.Bad
	s.Problems = append(s.Problems, h.Problems...)
	for _, in := range h.Stores {
		sum := stores[in.Store]
		if sum == nil {
			sum = &StoreResult{Store: in.Store, Statuses: map[extract.Status]int64{}}
			stores[in.Store] = sum
		}
		for status, n := range in.Statuses {
			sum.Statuses[status] += n
		}
		sum.Records += in.Records
		sum.Events += in.Events
		sum.Duplicates += in.Duplicates
		sum.Issues += in.Issues
		sum.Bytes += in.Bytes
	}
}

// Complete reports that everything that was asked for was read.
func (s *Summary) Complete() bool { return len(s.Problems) == 0 && len(s.Failures) == 0 }
