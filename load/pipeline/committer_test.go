package pipeline

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"gander/load/warehouse"
	"gander/schemas/fault"
)

// A home that cannot be committed for a reason of its own costs itself.
func TestRefusedCommitCostsOneHome(t *testing.T) {
	w := open(t)
	var ended atomic.Int64
	c := newCommitter(w)
	for _, id := range []string{"a", "b", "c"} {
		stage, err := w.Stage(id)
		if err != nil {
			t.Fatal(err)
		}
		if id == "b" { // a file that the manifest does not tell of
			if err := os.WriteFile(filepath.Join(stage.Dir(), "x"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err = c.add(finished{commit: warehouse.Commit{Stage: stage, Manifest: warehouse.Manifest{RunID: "r"}}}, func(err error) error {
			if ended.Add(1); (err != nil) != (id == "b") {
				t.Errorf("%s: %v", id, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if err := c.close(); err != nil || ended.Load() != 3 {
		t.Errorf("%d homes ended: %v", ended.Load(), err)
	}
	if homes, err := w.Homes(); err != nil || len(homes) != 2 {
		t.Errorf("%d homes are committed: %v", len(homes), err)
	}
	if left, _ := filepath.Glob(filepath.Join(w.Scratch(), "stage-*")); len(left) != 0 {
		t.Errorf("left in scratch: %v", left)
	}
}

// A disk that refuses a commit ends the run, with the error once.
func TestDiskRefusesCommit(t *testing.T) {
	w := open(t)
	all := jobs(t, w, homes(t))
	dir := filepath.Join(w.Dir(), "homes")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	sum, err := (&Runner{Warehouse: w, RunID: "r1"}).Run(context.Background(), all)
	if err == nil || fault.KindOf(err) != fault.Output || strings.Count(err.Error(), "move into place") != 1 || sum.Homes != 0 {
		t.Errorf("%+v, %v", sum, err)
	}
}
