package warehouse

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/gofrs/flock"

	"gander/load/parquet"
	"gander/schemas"
	"gander/schemas/fault"
)

// Format is the version of the layout. It rises when an older gander could not
// read or complete what a newer one wrote.
const Format = 1

// names in the directory
const (
	markerFile = "gander.json"
	markerTemp = ".gander.json.tmp"
	lockFile   = ".lock"
	commitDir  = ".commit"
	parquetDir = "parquet"
	homesDir   = "homes"
	runsDir    = "runs"
	homeKey    = "home_id="
	noHome     = "none" // the home_id of the empty files
)

var scratchName = regexp.MustCompile(`^\.scratch-[0-9]+$`)

type marker struct {
	Program string `json:"program"`
	Format  int    `json:"format"`
}

// Warehouse is an opened directory. Its methods may be called from several
// goroutines.
type Warehouse struct {
	dir  string
	disk disk

	rolling sync.Mutex // one roll forward at a time; taken before mu

	mu     sync.Mutex // guards what is below, for a moment only
	lock   *flock.Flock
	closed bool
}

// Open opens the warehouse at dir for writing, alone, and makes it where there
// is nothing or an empty directory. It removes the scratch of killed runs,
// completes the commits they left, and brings the empty files up to date.
func Open(dir string) (*Warehouse, error) { return open(dir, disk{}) }

func open(dir string, d disk) (*Warehouse, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, OutputError("open warehouse", dir, err)
	}
	w := &Warehouse{dir: dir, disk: d}
	// Nothing is written before it is clear that the directory is ours.
	fresh, err := w.check()
	if err != nil {
		return nil, err
	}
	if fresh {
		if err := w.makeDir(); err != nil {
			return nil, err
		}
	}
	lock := flock.New(w.path(lockFile), flock.SetPermissions(0o600))
	opened := false
	defer func() {
		if !opened {
			lock.Close()
		}
	}()
	ok, err := lock.TryLock()
	if err == nil {
		err = os.Chmod(lock.Path(), 0o600)
	}
	if err != nil {
		return nil, OutputError("lock warehouse", lock.Path(), err)
	}
	if !ok {
		return nil, &fault.Error{
			Kind: fault.Output, Op: "lock warehouse", Path: dir, Err: errors.New("another gander is writing it"),
			Hint: "Wait until the other run has ended, or choose another warehouse with -w.",
		}
	}
	w.lock = lock
	if err := w.prepare(); err != nil {
		w.Close()
		return nil, err
	}
	opened = true
	return w, nil
}

// OpenReadOnly opens the warehouse at dir for reading: the marker is checked
// and nothing else. It takes no lock: a run may be writing meanwhile.
func OpenReadOnly(dir string) (*Warehouse, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, OutputError("open warehouse", dir, err)
	}
	w := &Warehouse{dir: dir}
	fresh, err := w.check()
	if err == nil && fresh {
		err = &fault.Error{
			Kind: fault.Output, Op: "open warehouse", Path: dir, Err: errors.New("there is no warehouse"),
			Hint: "Make one with `gander run INPUT -w " + dir + "`, or name another with -w.",
		}
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// check tells whether dir can become a warehouse (fresh), is one (not fresh),
// or is neither (an error). It changes nothing.
func (w *Warehouse) check() (fresh bool, err error) {
	refuse := func(hint, format string, args ...any) error {
		return &fault.Error{Kind: fault.Output, Op: "open warehouse", Path: w.dir, Err: fmt.Errorf(format, args...), Hint: hint}
	}
	const elsewhere = "Choose another directory with -w: gander makes it, or takes one that is empty."

	info, err := os.Stat(w.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, OutputError("open warehouse", w.dir, err)
	case !info.IsDir():
		return false, refuse(elsewhere, "it is a file")
	}
	body, err := os.ReadFile(w.path(markerFile))
	if errors.Is(err, fs.ErrNotExist) {
		entries, err := os.ReadDir(w.dir)
		if err != nil {
			return false, OutputError("open warehouse", w.dir, err)
		}
		for _, e := range entries {
			// What a kill in the middle of making it leaves.
			if e.Name() != lockFile && e.Name() != markerTemp {
				return false, refuse(elsewhere, "it is not empty and has no %s", markerFile)
			}
		}
		return true, nil
	}
	if err != nil {
		return false, OutputError("open warehouse", w.path(markerFile), err)
	}
	var m marker
	switch err := json.Unmarshal(body, &m); {
	case err != nil || m.Program != "gander" || m.Format < 1:
		return false, refuse(elsewhere, "its %s is not one of gander", markerFile)
	case m.Format > Format:
		return false, refuse("Use the gander that wrote it or a newer one, or choose another directory with -w.",
			"it has format %d, this gander knows formats up to %d", m.Format, Format)
	}
	return false, nil
}

// makeDir makes the directory and those above it. One that is there, empty, is closed to others.
func (w *Warehouse) makeDir() error {
	var missing []string
	for dir := w.dir; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		missing = append(missing, dir)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := w.disk.mkdir(missing[i]); err != nil {
			return err
		}
		if err := w.disk.sync(filepath.Dir(missing[i])); err != nil && i < len(missing)-1 {
			return err // only the directory above the topmost may be closed to us for reading
		}
	}
	return OutputError("make private", w.dir, os.Chmod(w.dir, 0o700))
}

// prepare brings the directory, whose lock is held, into its resting state.
func (w *Warehouse) prepare() error {
	fresh, err := w.check() // again: another process may have made it meanwhile
	if err != nil {
		return err
	}
	if fresh {
		if err := w.disk.writeJSON(w.path(markerFile), w.path(markerTemp), marker{"gander", Format}); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return OutputError("open warehouse", w.dir, err)
	}
	for _, e := range entries {
		if scratchName.MatchString(e.Name()) { // its process is dead: the lock is ours
			if err := os.RemoveAll(w.path(e.Name())); err != nil {
				return OutputError("remove old scratch", w.path(e.Name()), err)
			}
		}
	}
	for _, dir := range []string{w.Scratch(), w.path(commitDir), w.path(parquetDir), w.path(homesDir), w.path(runsDir)} {
		if err := w.disk.mkdir(dir); err != nil {
			return err
		}
	}
	for _, t := range schemas.Tables() {
		if err := parquet.WriteEmpty(w.path(parquetDir, t.Name, homeKey+noHome), t); err != nil {
			return err
		}
	}
	if err := w.disk.sync(w.dir); err != nil {
		return err
	}
	pending, err := os.ReadDir(w.path(commitDir))
	if err != nil {
		return OutputError("read", w.path(commitDir), err)
	}
	homes := make([]string, len(pending))
	for i, e := range pending {
		if homes[i] = e.Name(); validID(homes[i]) != nil {
			return &fault.Error{Kind: fault.Output, Op: "complete commit", Path: w.path(commitDir, e.Name()), Err: validID(homes[i]),
				Hint: "gander did not write this: remove it."}
		}
	}
	for _, err := range w.rollForward(homes, true) {
		if err != nil {
			return err
		}
	}
	return nil
}

// Close removes the scratch directory and gives up the lock. It may be called
// again, and does nothing then.
func (w *Warehouse) Close() error {
	w.rolling.Lock()
	defer w.rolling.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.lock == nil {
		return nil
	}
	err := os.RemoveAll(w.Scratch())
	return OutputError("close warehouse", w.dir, errors.Join(err, w.lock.Close()))
}

// Dir returns the absolute path of the warehouse.
func (w *Warehouse) Dir() string { return w.dir }

// Database returns the path of the DuckDB file, there or not.
func (w *Warehouse) Database() string { return w.path("gander.duckdb") }

// Parquet returns the directory of the tables.
func (w *Warehouse) Parquet() string { return w.path(parquetDir) }

// Scratch returns a directory of this process, on the disk of the warehouse,
// for files that need not outlive it. It is there until Close; a warehouse
// opened for reading has none.
func (w *Warehouse) Scratch() string {
	return w.path(".scratch-" + strconv.Itoa(os.Getpid()))
}

func (w *Warehouse) path(elem ...string) string {
	return filepath.Join(append([]string{w.dir}, elem...)...)
}

// writable refuses a warehouse that is closed or opened for reading.
func (w *Warehouse) writable(op string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lock == nil || w.closed {
		return &fault.Error{Kind: fault.Internal, Op: op, Path: w.dir, Err: errors.New("the warehouse is not open for writing")}
	}
	return nil
}

// maxID is the longest id in bytes: "home_id=<id>" and "<id>.json" are file names.
const maxID = 240

// validID refuses what cannot be the name of a home's or run's files.
func validID(id string) error {
	bad := func(r rune) bool {
		return !(r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	}
	switch {
	case id == "" || id == "." || id == ".." || id == noHome:
		return fmt.Errorf("%q cannot be an id", id)
	case len(id) > maxID:
		return fmt.Errorf("an id has at most %d bytes, this has %d", maxID, len(id))
	case strings.ContainsFunc(id, bad):
		return fmt.Errorf("id %q holds other characters than A-Z, a-z, 0-9, '.', '_' and '-'", id)
	}
	return nil
}

// RecordRun keeps the record of a finished run, an object of the columns of
// schemas.Runs. A record of the same id is replaced.
func (w *Warehouse) RecordRun(id string, v any) error {
	if err := w.writable("record run"); err != nil {
		return err
	}
	if err := validID(id); err != nil {
		return &fault.Error{Kind: fault.Internal, Op: "record run", Err: err}
	}
	f, err := os.CreateTemp(w.Scratch(), "run-*")
	if err != nil {
		return OutputError("record run", w.Scratch(), err)
	}
	f.Close()
	return w.disk.writeJSON(w.path(runsDir, id+".json"), f.Name(), v)
}

// Runs returns the record of every run, by id.
func (w *Warehouse) Runs() ([]json.RawMessage, error) {
	var runs []json.RawMessage
	err := eachJSON(w.path(runsDir), func(path string, body []byte) error {
		if !json.Valid(body) {
			return errors.New("it is not JSON")
		}
		runs = append(runs, body)
		return nil
	})
	return runs, err
}

// eachJSON calls f with every .json file of a directory, by name.
func eachJSON(dir string, f func(path string, body []byte) error) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return OutputError("read", dir, err)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		body, err := os.ReadFile(path)
		if err != nil {
			return OutputError("read", path, err)
		}
		if err := f(path, body); err != nil {
			return &fault.Error{Kind: fault.Output, Op: "read", Path: path, Err: err,
				Hint: "The file is damaged. Move it away and run again over the inputs concerned."}
		}
	}
	return nil
}
