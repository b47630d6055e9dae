package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"gander/extract"
	"gander/load/parquet"
	"gander/load/warehouse"
	"gander/schemas/batch/batchtest"
	"gander/schemas/fault"
	"gander/testdata/fixture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) *warehouse.Warehouse {
	t.Helper()
	w, err := warehouse.Open(filepath.Join(t.TempDir(), "w"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func jobs(t *testing.T, w *warehouse.Warehouse, input string) []Job {
	t.Helper()
	opened, err := extract.Open(context.Background(), []string{input}, extract.Options{Scratch: w.Scratch()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	return Jobs(opened)
}

func homes(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "homes")
	if err := fixture.Build("../../testdata/homes", dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRun(t *testing.T) {
	w := open(t)
	mem := memory.NewCheckedAllocator(batchtest.Poison{})
	defer mem.AssertSize(t, 0)
	r := Runner{Warehouse: w, RunID: "r1", Version: "v", Mem: mem}
	sum, err := r.Run(context.Background(), jobs(t, w, homes(t)))
	if err != nil {
		t.Fatal(err)
	}
	if sum.Homes != 4 || sum.Bad != 3 || !sum.Complete() || sum.Rows["events"] != 61 || sum.Rows["usage"] != 4 {
		t.Errorf("summary %+v", sum)
	}
	manifests, err := w.Homes()
	if err != nil || len(manifests) != 4 {
		t.Fatalf("%d homes committed, %v", len(manifests), err)
	}
	for _, m := range manifests {
		if m.RunID != "r1" || m.GanderVersion != "v" || !strings.Contains(string(m.Summary), `"stores"`) {
			t.Errorf("manifest %+v", m)
		}
		for _, f := range m.Files {
			if _, err := os.Stat(filepath.Join(w.Dir(), f.Path)); err != nil {
				t.Error(err)
			}
		}
	}
	left, _ := filepath.Glob(filepath.Join(w.Scratch(), "*"))
	for _, l := range left {
		if !strings.Contains(l, "inputs") && !strings.Contains(l, "archive") {
			t.Errorf("left in scratch: %s", l)
		}
	}
}

func TestLargestFirst(t *testing.T) {
	opened := &extract.Opened{
		Homes: []extract.Home{
			{ID: "small", Files: []extract.File{{Size: 1}, {Size: -1}}},
			{ID: "walled", Files: []extract.File{{Size: 4096, WAL: &extract.Companion{Size: 1 << 20}}}},
			{ID: "middle", Files: []extract.File{{Size: 5000}}},
		},
		Superseded: []extract.Superseded{{Home: extract.Home{ID: "small"}, By: "x"}},
	}
	got := Jobs(opened)
	if got[0].Home.ID != "walled" || got[1].Home.ID != "middle" || got[2].Home.ID != "small" || len(got[2].Superseded) != 1 {
		t.Errorf("order %s %s %s", got[0].Home.ID, got[1].Home.ID, got[2].Home.ID)
	}
	if Size(got) != 4096+1<<20+5000+1 {
		t.Errorf("Size = %d", Size(got))
	}
}

// What the files hold must be what was written and what the tallies promise.
func TestReconcile(t *testing.T) {
	r := &Runner{}
	good := func() *home {
		return &home{r: r, rows: map[string]int64{"events": 5, "messages": 2}, events: 5}
	}
	files := []parquet.File{{Table: "events", Rows: 3}, {Table: "events", Rows: 2}, {Table: "messages", Rows: 2}}
	if err := good().reconcile(files); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		change func(*home)
		files  []parquet.File
	}{
		"an event too few in the files": {func(*home) {}, []parquet.File{{Table: "events", Rows: 4}, {Table: "messages", Rows: 2}}},
		"a table without its file":      {func(*home) {}, files[:2]},
		"an event nobody promised":      {func(h *home) { h.events = 4 }, files},
		"a link nobody wrote":           {func(h *home) { h.links = 1 }, files},
	} {
		h := good()
		c.change(h)
		if err := h.reconcile(c.files); fault.KindOf(err) != fault.Internal || err == nil {
			t.Errorf("%s passes: %v", name, err)
		}
	}
}

// A home whose reading panics costs itself and is named.
func TestPanicCostsOneHome(t *testing.T) {
	w := open(t)
	r := Runner{Warehouse: w, RunID: "r1", Observer: exploding{}}
	sum, err := r.Run(context.Background(), jobs(t, w, homes(t)))
	if err != nil {
		t.Fatal(err)
	}
	if len(sum.Failures) != 1 || !strings.Contains(sum.Failures[0].Error, "panic: boom") || sum.Homes != 3 || sum.Complete() {
		t.Errorf("summary %+v", sum)
	}
	manifests, _ := w.Homes()
	for _, m := range manifests {
		if m.HomeID == sum.Failures[0].HomeID {
			t.Error("the home that failed is committed")
		}
	}
}

// exploding panics when a home writes a certain number of rows at once.
type exploding struct{}

func (exploding) Rows(n int64) {
	if n == 29 { // ada's events
		panic("boom")
	}
}
func (exploding) Bytes(int64)        {}
func (exploding) Home(string, error) {}

func TestCancelled(t *testing.T) {
	w := open(t)
	all := jobs(t, w, homes(t))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	sum, err := (&Runner{Warehouse: w, RunID: "r1"}).Run(ctx, all)
	if !errors.Is(err, context.Canceled) || sum.Homes != 0 {
		t.Errorf("%+v, %v", sum, err)
	}
	if manifests, _ := w.Homes(); len(manifests) != 0 {
		t.Errorf("%d homes committed", len(manifests))
	}
}
