package warehouse

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gander/load/parquet"
	"gander/schemas"
	"gander/schemas/fault"
)

// Manifest describes a committed home. It is the commit: a home without one is
// not in the warehouse.
type Manifest struct {
	HomeID        string          `json:"home_id"`
	RunID         string          `json:"run_id"`
	GanderVersion string          `json:"gander_version"`
	CommittedAt   time.Time       `json:"committed_at"`
	Files         []parquet.File  `json:"files"` // paths relative to the warehouse
	Summary       json.RawMessage `json:"summary,omitempty"`
}

const manifestFile = "manifest.json"

// Stage is a directory for the files of one home that is being written:
// <table>/<file>, as parquet.Writer lays them out. It ends with Commit or
// Abort; Abort after Commit does nothing, so that it can be deferred.
type Stage struct {
	w    *Warehouse
	home string
	dir  string

	mu   sync.Mutex
	done bool
}

// Stage makes an empty stage. A home_id that is no plain file name is refused.
// Several stages of one home may be open; the last to commit stays.
func (w *Warehouse) Stage(homeID string) (*Stage, error) {
	if err := w.writable("stage home"); err != nil {
		return nil, err
	}
	if err := validID(homeID); err != nil {
		return nil, &fault.Error{Kind: fault.Internal, Op: "stage home", Err: err}
	}
	dir, err := os.MkdirTemp(w.Scratch(), "stage-*")
	if err == nil {
		err = os.Chmod(dir, 0o700)
	}
	if err != nil {
		return nil, OutputError("stage home", w.Scratch(), err)
	}
	return &Stage{w: w, home: homeID, dir: dir}, nil
}

// Dir returns the directory to write to.
func (s *Stage) Dir() string { return s.dir }

// Abort removes the stage.
func (s *Stage) Abort() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return nil
	}
	s.done = true
	return OutputError("abort home", s.dir, os.RemoveAll(s.dir))
}

// Commit puts the staged files in the place of the home's earlier ones. m.Files
// names each with its path in the stage, and nothing else may be there; HomeID
// is set by Commit, and CommittedAt where it is zero.
//
// When Commit fails, the home is either as it was, and the stage may be
// aborted, or committed and not yet in place, which the next Commit of the home
// or the next Open makes good.
func (s *Stage) Commit(m Manifest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return s.internal(errors.New("the stage is closed"))
	}
	if err := s.w.writable("commit home"); err != nil {
		return err
	}
	if err := s.seal(m.Files); err != nil {
		return err
	}
	m.HomeID = s.home
	if m.CommittedAt.IsZero() {
		m.CommittedAt = time.Now()
	}
	m.CommittedAt = m.CommittedAt.UTC()
	m.Files = slices.Clone(m.Files)
	for i, f := range m.Files {
		m.Files[i].Path = path.Join(parquetDir, f.Table, homeKey+s.home, path.Base(f.Path))
	}
	d := s.w.disk
	name := filepath.Join(s.dir, manifestFile)
	if err := d.writeJSON(name, name+".tmp", m); err != nil { // makes the stage itself durable too
		return err
	}

	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.w.closed {
		return s.internal(errors.New("the warehouse is closed"))
	}
	// An earlier commit of this home whose roll forward failed goes first.
	if err := s.w.rollForward(s.home, true); err != nil {
		return err
	}
	if err := d.rename(s.dir, s.w.path(commitDir, s.home)); err != nil {
		return err
	}
	s.done = true // committed
	if err := d.sync(s.w.path(commitDir)); err != nil {
		return err
	}
	return s.w.rollForward(s.home, false)
}

func (s *Stage) internal(err error) error {
	return &fault.Error{Kind: fault.Internal, Op: "commit home", Home: s.home, Path: s.dir, Err: err}
}

// seal makes the staged files durable and private, after checking that they are
// the ones that files describes.
func (s *Stage) seal(files []parquet.File) error {
	left, tables := map[string]parquet.File{}, map[string]bool{".": true}
	for _, f := range files {
		if schemas.Lookup(f.Table) == nil || path.Dir(f.Path) != f.Table || filepath.Ext(f.Path) != ".parquet" {
			return s.internal(fmt.Errorf("%q is no file of a table %q", f.Path, f.Table))
		}
		left[f.Path], tables[f.Table] = f, true
	}
	if len(left) != len(files) {
		return s.internal(errors.New("a file is described twice"))
	}
	var dirs []string
	err := filepath.WalkDir(s.dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return OutputError("read stage", name, err)
		}
		rel, err := filepath.Rel(s.dir, name)
		if err != nil {
			return s.internal(err)
		}
		rel = filepath.ToSlash(rel)
		if e.IsDir() {
			if dirs = append(dirs, name); !tables[rel] {
				return s.internal(fmt.Errorf("no file of %s is described", rel))
			}
			return nil
		}
		if rel == manifestFile || rel == manifestFile+".tmp" { // of a Commit that failed
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return OutputError("read stage", name, err)
		}
		f, ok := left[rel]
		if !ok || !info.Mode().IsRegular() || info.Size() != f.Bytes {
			return s.internal(fmt.Errorf("%s is not as described", rel))
		}
		delete(left, rel)
		if err := os.Chmod(name, 0o600); err != nil {
			return OutputError("make private", name, err)
		}
		return s.w.disk.sync(name)
	})
	if err != nil {
		return err
	}
	for rel := range left {
		return s.internal(fmt.Errorf("%s is missing", rel))
	}
	for _, dir := range dirs {
		if err := os.Chmod(dir, 0o700); err != nil {
			return OutputError("make private", dir, err)
		}
		if err := s.w.disk.sync(dir); err != nil {
			return err
		}
	}
	return nil
}

// rollForward moves what is in .commit/<home> into place. It may be stopped
// after any step and called again; without a commit of the home it does
// nothing. resumed tells that it may have been stopped before: what is in place
// already is then not known to be durable. The caller holds w.mu, or the
// Warehouse alone.
func (w *Warehouse) rollForward(home string, resumed bool) error {
	from := w.path(commitDir, home)
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	name := filepath.Join(from, manifestFile)
	switch body, err := os.ReadFile(name); {
	case err == nil:
		if err := w.swap(home, from, body, resumed); err != nil {
			return err
		}
	case errors.Is(err, fs.ErrNotExist):
		// The manifest is in homes/: all but the removal is done.
	default:
		return OutputError("complete commit", name, err)
	}
	if err := w.disk.removeAll(from); err != nil {
		return err
	}
	return w.disk.sync(w.path(commitDir))
}

// swap replaces the home's directory of every table, then its manifest.
func (w *Warehouse) swap(home, from string, manifest []byte, resumed bool) error {
	damaged := func(err error) error {
		return &fault.Error{Kind: fault.Output, Op: "complete commit", Home: home, Path: from, Err: err,
			Hint: "The disk lost what had been written. Move this directory away and run again over the inputs of this home."}
	}
	var m Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return damaged(err)
	}
	if m.HomeID != home {
		return damaged(fmt.Errorf("its manifest is of home %q", m.HomeID))
	}
	files := map[string]bool{} // tables of the new version
	for _, f := range m.Files {
		files[f.Table] = true
	}
	tables, err := w.tableDirs(files)
	if err != nil {
		return err
	}
	for _, table := range tables {
		staged, dir := filepath.Join(from, table), w.path(parquetDir, table)
		target := filepath.Join(dir, homeKey+home)
		_, err := os.Stat(staged)
		switch {
		case err == nil:
			if err := w.disk.mkdir(dir); err != nil {
				return err
			}
			if err := w.disk.removeAll(target); err != nil {
				return err
			}
			if err := w.disk.rename(staged, target); err != nil {
				return err
			}
		case !errors.Is(err, fs.ErrNotExist):
			return OutputError("complete commit", staged, err)
		case files[table]:
			// Moved before a crash.
		default:
			if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) && !resumed {
				continue // nothing changes: no need to wait for the disk
			}
			if err := w.disk.removeAll(target); err != nil {
				return err
			}
		}
		if err := w.disk.sync(dir); err != nil {
			return err
		}
	}
	if err := w.disk.sync(w.path(parquetDir)); err != nil {
		return err
	}
	for _, f := range m.Files {
		info, err := os.Stat(w.path(filepath.FromSlash(f.Path)))
		if err == nil && info.Size() != f.Bytes {
			err = fmt.Errorf("%s has %d bytes, not %d", f.Path, info.Size(), f.Bytes)
		}
		if err != nil {
			return damaged(err)
		}
	}
	if err := w.disk.rename(filepath.Join(from, manifestFile), w.path(homesDir, home+".json")); err != nil {
		return err
	}
	return w.disk.sync(w.path(homesDir))
}

// tableDirs lists the tables that a home may have rows in, sorted: those on
// disk, whichever gander wrote them, and those given.
func (w *Warehouse) tableDirs(also map[string]bool) ([]string, error) {
	entries, err := os.ReadDir(w.path(parquetDir))
	if err != nil {
		return nil, OutputError("read", w.path(parquetDir), err)
	}
	var tables []string
	for _, e := range entries {
		if e.IsDir() {
			tables = append(tables, e.Name())
		}
	}
	for t := range also {
		tables = append(tables, t)
	}
	slices.Sort(tables)
	return slices.Compact(tables), nil
}

// Homes returns the manifest of every committed home, by home_id.
func (w *Warehouse) Homes() ([]Manifest, error) {
	var homes []Manifest
	err := eachJSON(w.path(homesDir), func(path string, body []byte) error {
		var m Manifest
		if err := json.Unmarshal(body, &m); err != nil {
			return err
		}
		if filepath.Base(path) != m.HomeID+".json" {
			return fmt.Errorf("it is the manifest of home %q", m.HomeID)
		}
		homes = append(homes, m)
		return nil
	})
	slices.SortFunc(homes, func(a, b Manifest) int { return strings.Compare(a.HomeID, b.HomeID) })
	return homes, err
}
