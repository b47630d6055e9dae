package pipeline

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gander/load/warehouse"
	"gander/schemas/fault"
	"gander/transform"
)

// failingFile is a scratch file of which one operation fails.
type failingFile struct {
	*scratchFile
	op string
}

var errDisk = errors.New("no space left on device")

func (f failingFile) ReadAt(b []byte, at int64) (int, error) {
	if f.op == "read" {
		return 0, warehouse.OutputError("read scratch file", f.file.Name(), errDisk)
	}
	if f.op == "short read" {
		at = 1 << 40
	}
	return f.scratchFile.ReadAt(b, at)
}

func (f failingFile) Truncate(size int64) error {
	if f.op == "truncate" {
		return warehouse.OutputError("write scratch file", f.file.Name(), errDisk)
	}
	return f.scratchFile.Truncate(size)
}

// spillingTo has every record in files of which op fails, "" for none.
func spillingTo(w *warehouse.Warehouse, op string, opened *int) func(*transform.Overlap) {
	return func(o *transform.Overlap) {
		o.SpillTo(func() (transform.OverlapFile, error) {
			dir := w.Scratch()
			if op == "open" {
				dir = filepath.Join(dir, "gone")
			}
			f, err := newScratchFile(dir, "overlap-")
			if err != nil {
				return nil, err
			}
			*opened++
			return failingFile{f, op}, nil
		}, 0)
	}
}

func noOverlapFiles(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(w.Scratch(), "overlap-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in scratch: %v, %v", left, err)
	}
}

// What a home gives does not depend on where the overlap has its records.
func TestOverlapOnDisk(t *testing.T) {
	input := homes(t)
	w := open(t)
	want, err := (&Runner{Warehouse: w, RunID: "r1"}).Run(context.Background(), jobs(t, w, input))
	if err != nil {
		t.Fatal(err)
	}
	disk, opened := open(t), 0
	got, err := (&Runner{Warehouse: disk, RunID: "r1", Workers: 1, remember: spillingTo(disk, "", &opened)}).Run(context.Background(), jobs(t, disk, input))
	if err != nil || !maps.Equal(want.Rows, got.Rows) || got.Homes != want.Homes {
		t.Errorf("%+v, not %+v; %v", got, want, err)
	}
	if opened == 0 {
		t.Error("nothing was on disk")
	}
	noOverlapFiles(t, disk)
}

// A scratch file that fails ends the run as an error of the output, and the
// home is not committed.
func TestOverlapFails(t *testing.T) {
	input := homes(t)
	for _, op := range []string{"open", "truncate", "read", "short read"} {
		w, opened := open(t), 0
		all := jobs(t, w, input)
		for i := range all {
			if strings.Contains(all[i].Home.User, "ada") { // who has request logs
				all = all[i : i+1]
				break
			}
		}
		sum, err := (&Runner{Warehouse: w, RunID: "r1", Workers: 1, remember: spillingTo(w, op, &opened)}).Run(context.Background(), all)
		if err == nil || fault.KindOf(err) != fault.Output || fault.HintOf(err) == "" || !strings.Contains(err.Error(), "scratch") {
			t.Errorf("%s: error %v", op, err)
		}
		if manifests, _ := w.Homes(); len(manifests) != 0 || sum.Homes != 0 {
			t.Errorf("%s: %d homes committed", op, len(manifests))
		}
		noOverlapFiles(t, w)
	}
}

// A home that panics leaves no file either.
func TestOverlapAfterPanic(t *testing.T) {
	w, opened := open(t), 0
	r := Runner{Warehouse: w, RunID: "r1", Workers: 1, Observer: exploding{}, remember: spillingTo(w, "", &opened)}
	sum, err := r.Run(context.Background(), jobs(t, w, homes(t)))
	if err != nil || len(sum.Failures) != 1 || opened == 0 {
		t.Errorf("%+v, %v, %d files", sum, err, opened)
	}
	noOverlapFiles(t, w)
}

// Errors of a scratch file say which one and what to do; reading what was not
// written is one.
func TestScratchFile(t *testing.T) {
	f, err := newScratchFile(t.TempDir(), "x-")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); fault.KindOf(err) != fault.Output || !strings.Contains(err.Error(), f.file.Name()+": unexpected EOF") {
		t.Errorf("read beyond the end: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(f.file.Name()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	if _, err := f.WriteAt([]byte{1}, 0); fault.KindOf(err) != fault.Output {
		t.Errorf("write to a closed file: %v", err)
	}
}
