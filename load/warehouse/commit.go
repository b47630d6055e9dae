package warehouse

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gander/load/parquet"
	"gander/schemas"
	"gander/schemas/fault"
)

// Commit is a home to be committed: a stage and the manifest of what is in it.
type Commit struct {
	Stage    *Stage
	Manifest Manifest
}

// waits is how many files and directories are waited for at a time: what a disk
// is asked for together it does together.
const waits = 64

// Commit puts the staged files of each home in the place of its earlier ones,
// and waits for the disk about as often as for a single home. Manifest.Files
// names each file with its path in the stage, and nothing else may be there;
// HomeID is set by Commit, and CommittedAt where it is zero.
//
// It returns an error per home, nil for one that is committed. A home that is
// not is either as it was, and its stage may be aborted, or committed and not
// yet in place, which the next Commit of the home or the next Open makes good.
func (w *Warehouse) Commit(commits ...Commit) []error {
	seen := map[string]bool{}
	for i, c := range commits {
		if seen[c.Stage.home] { // its versions one after the other
			return append(w.Commit(commits[:i]...), w.Commit(commits[i:]...)...)
		}
		seen[c.Stage.home] = true
	}
	errs := make([]error, len(commits))
	slots := make(chan struct{}, waits)
	durable := func(paths []string) error { return w.disk.syncAll(paths, slots) }
	var prepared sync.WaitGroup
	for i, c := range commits {
		prepare := func() { errs[i] = c.Stage.prepare(c.Manifest, durable) }
		if w.disk.before != nil {
			prepare() // what watches the steps wants them one at a time
			continue
		}
		prepared.Go(prepare)
	}
	prepared.Wait()

	w.rolling.Lock()
	defer w.rolling.Unlock()
	var moved []int
	var homes []string
	for i, c := range commits {
		if errs[i] != nil {
			continue
		}
		if errs[i] = w.enter(c.Stage); errs[i] == nil {
			moved, homes = append(moved, i), append(homes, c.Stage.home)
		}
	}
	for i, err := range w.rollForward(homes, false) {
		errs[moved[i]] = err
	}
	return errs
}

// Commit commits one home: see Warehouse.Commit.
func (s *Stage) Commit(m Manifest) error { return s.w.Commit(Commit{s, m})[0] }

func (s *Stage) internal(err error) error {
	return &fault.Error{Kind: fault.Internal, Op: "commit home", Home: s.home, Path: s.dir, Err: err}
}

// prepare makes the stage durable, with its manifest. durable waits for several
// files or directories.
func (s *Stage) prepare(m Manifest, durable func(paths []string) error) error {
	if s.done {
		return s.internal(errors.New("the stage is closed"))
	}
	if err := s.w.writable("commit home"); err != nil {
		return err
	}
	if err := s.seal(m.Files, durable); err != nil {
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
	name := filepath.Join(s.dir, manifestFile)
	return s.w.disk.writeJSON(name, name+".tmp", m) // makes the stage itself durable too
}

// enter moves a prepared stage to .commit: from there on the home is committed.
// The caller holds w.rolling.
func (w *Warehouse) enter(s *Stage) error {
	if err := w.writable("commit home"); err != nil { // closed meanwhile
		return err
	}
	to := w.path(commitDir, s.home)
	// An earlier commit of this home that did not get into place goes first.
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		if err := w.rollForward([]string{s.home}, true)[0]; err != nil {
			return err
		}
	}
	if err := w.disk.rename(s.dir, to); err != nil {
		return err
	}
	s.done = true
	return nil
}

// seal makes the staged files durable and private, after checking that they are
// the ones that files describes.
func (s *Stage) seal(files []parquet.File, durable func([]string) error) error {
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
	var found, dirs []string
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
		found = append(found, name)
		return nil
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
	}
	return durable(append(found, dirs...))
}

// rollForward moves what is in .commit of each home into place. It may be
// stopped after any step and called again; without a commit of a home it does
// nothing for it. resumed tells that it may have been stopped before: what is in
// place already is then not known to be durable. It returns an error per home.
// The caller holds w.rolling, or the Warehouse alone.
func (w *Warehouse) rollForward(homes []string, resumed bool) []error {
	f := forward{w: w, homes: homes, resumed: resumed, errs: make([]error, len(homes)), manifests: make([]*Manifest, len(homes)), tables: map[string]bool{}}
	if !resumed {
		f.sync(commitDir) // the commit point
	}
	f.each(f.load)
	f.each(f.swap)
	for _, table := range slices.Sorted(maps.Keys(f.tables)) {
		f.sync(parquetDir, table)
	}
	f.sync(parquetDir)
	f.each(f.enlist)
	f.sync(homesDir)
	f.each(f.clear)
	f.sync(commitDir)
	return f.errs
}

// forward is a roll forward of several homes, step by step: a home that fails
// leaves the others going, and they wait for the disk together.
type forward struct {
	w       *Warehouse
	homes   []string
	resumed bool

	errs      []error
	manifests []*Manifest     // nil where the manifest is in homes/ already, or there is no commit
	tables    map[string]bool // whose directories changed
}

// each does a step for every home that has not failed.
func (f *forward) each(step func(i int) error) {
	for i := range f.homes {
		if f.errs[i] == nil {
			f.errs[i] = step(i)
		}
	}
}

// sync waits for a directory of the warehouse, on behalf of all homes.
func (f *forward) sync(elem ...string) {
	if !slices.Contains(f.errs, nil) {
		return
	}
	if err := f.w.disk.sync(f.w.path(elem...)); err != nil {
		f.each(func(int) error { return err })
	}
}

func (f *forward) from(i int) string { return f.w.path(commitDir, f.homes[i]) }

// damaged is an error about a commit that is not as it was written.
func (f *forward) damaged(i int, err error) error {
	return &fault.Error{Kind: fault.Output, Op: "complete commit", Home: f.homes[i], Path: f.from(i), Err: err,
		Hint: "The disk lost what had been written. Move this directory away and run again over the inputs of this home."}
}

// load reads the manifest.
func (f *forward) load(i int) error {
	name := filepath.Join(f.from(i), manifestFile)
	body, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // it is in homes/, and all but the removal is done; or there is no commit
	case err != nil:
		return OutputError("complete commit", name, err)
	}
	m := new(Manifest)
	if err := json.Unmarshal(body, m); err != nil {
		return f.damaged(i, err)
	}
	if m.HomeID != f.homes[i] {
		return f.damaged(i, fmt.Errorf("its manifest is of home %q", m.HomeID))
	}
	f.manifests[i] = m
	return nil
}

// swap replaces the home's directory of every table.
func (f *forward) swap(i int) error {
	m, d := f.manifests[i], f.w.disk
	if m == nil {
		return nil
	}
	files := map[string]bool{} // tables of the new version
	for _, file := range m.Files {
		files[file.Table] = true
	}
	tables, err := f.w.tableDirs(files)
	if err != nil {
		return err
	}
	for _, table := range tables {
		staged, dir := filepath.Join(f.from(i), table), f.w.path(parquetDir, table)
		target := filepath.Join(dir, homeKey+f.homes[i])
		_, err := os.Stat(staged)
		switch {
		case err == nil:
			if err := d.mkdir(dir); err != nil {
				return err
			}
			if err := d.removeAll(target); err != nil {
				return err
			}
			if err := d.rename(staged, target); err != nil {
				return err
			}
		case !errors.Is(err, fs.ErrNotExist):
			return OutputError("complete commit", staged, err)
		case files[table]:
			// Moved before a crash.
		default:
			if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) && !f.resumed {
				continue // nothing changes: no need to wait for the disk
			}
			if err := d.removeAll(target); err != nil {
				return err
			}
		}
		f.tables[table] = true
	}
	return nil
}

// enlist checks what is in place and moves the manifest to homes/.
func (f *forward) enlist(i int) error {
	m := f.manifests[i]
	if m == nil {
		return nil
	}
	for _, file := range m.Files {
		info, err := os.Stat(f.w.path(filepath.FromSlash(file.Path)))
		if err == nil && info.Size() != file.Bytes {
			err = fmt.Errorf("%s has %d bytes, not %d", file.Path, info.Size(), file.Bytes)
		}
		if err != nil {
			return f.damaged(i, err)
		}
	}
	return f.w.disk.rename(filepath.Join(f.from(i), manifestFile), f.w.path(homesDir, f.homes[i]+".json"))
}

// clear removes what is left of the commit.
func (f *forward) clear(i int) error { return f.w.disk.removeAll(f.from(i)) }

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
