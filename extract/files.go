package extract

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"gander/extract/internal/homefs"
)

// lister finds the files of one home's stores in a tree.
type lister struct {
	tree homefs.Tree
	dir  string // of the home

	// dirs are the layouts to look at, in order.
	dirs []layoutDirs
	// within says which resolved paths a link may lead to.
	within func(name string) bool
	// absolute turns an absolute link target into a path of the tree.
	absolute func(target string) (string, bool)
	// rel gives a path below the home, path the one on the source host.
	rel, path func(name string) string

	files  []found
	issues []Issue
}

// found is a File with the place where its bytes are in the tree.
type found struct {
	File
	name     string // path in the tree, links in it not resolved
	resolved string // path in the tree without links
	layout   int    // index in lister.dirs
	ref      any    // Info.Ref of the entry
	wal      string // place of File.WAL; "" without one
	journal  string // place of File.Journal; "" without one
}

// newLister returns a lister for the home at dir of a tree, with the rules for
// links that hold in a tree: they may lead anywhere inside the home. An
// absolute target is a path of the source host or of this machine.
func newLister(t homefs.Tree, dir, home string, found []Layout, root string) *lister {
	l := &lister{tree: t, dir: dir}
	for _, d := range layouts {
		if slices.Contains(found, d.layout) {
			l.dirs = append(l.dirs, d.below(dir))
		}
	}
	l.within = func(name string) bool { return homefs.Within(dir, name) }
	l.rel = func(name string) string { return homefs.Below(dir, name) }
	l.path = func(name string) string { return sourcePath(home, homefs.Below(dir, name)) }
	l.absolute = absoluteTargets(dir, home, root)
	return l
}

// absoluteTargets maps absolute link targets into a tree: those below root,
// where the tree is on this machine ("" for nowhere), and those below the
// home's path on the source host.
func absoluteTargets(dir, home, root string) func(string) (string, bool) {
	return func(target string) (string, bool) {
		if root != "" {
			if rest, ok := cutDir(target, root); ok {
				return homefs.Join(".", rest), true
			}
		}
		source := home
		if isWindowsPath(home) {
			target, source = strings.ReplaceAll(target, `\`, "/"), strings.ReplaceAll(home, `\`, "/")
		}
		if rest, ok := cutDir(target, source); ok {
			return homefs.Join(dir, rest), true
		}
		return "", false
	}
}

// cutDir gives the rest of name below dir; both are absolute with slashes. The
// rest is not cleaned: it may still climb.
func cutDir(name, dir string) (string, bool) {
	dir = strings.TrimSuffix(dir, "/")
	rest, ok := strings.CutPrefix(name, dir)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.TrimLeft(rest, "/"), true
}

// list finds the files. What it returns is sorted by store, layout and path.
func (l *lister) list() {
	for i, d := range l.dirs {
		for _, rd := range rolesByDir(d) {
			l.listRole(i, rd.dir, rd.roles)
		}
	}
	order := Stores()
	rank := func(s Store) int {
		if i := slices.Index(order, s); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(l.files, func(a, b found) int {
		if c := rank(a.Store) - rank(b.Store); c != 0 {
			return c
		}
		if c := a.layout - b.layout; c != 0 {
			return c
		}
		return strings.Compare(a.Rel, b.Rel)
	})
	l.files = onceEach(l.files)
}

// onceEach drops every file that another path leads to as well: the path
// without links stays, else the first one.
func onceEach(files []found) []found {
	direct := make(map[string]bool, len(files))
	for _, f := range files {
		if f.resolved == f.name {
			direct[f.resolved] = true
		}
	}
	seen := make(map[string]bool, len(files))
	return slices.DeleteFunc(files, func(f found) bool {
		if f.resolved == "" {
			return false
		}
		if f.resolved != f.name && direct[f.resolved] || seen[f.resolved] {
			return true
		}
		seen[f.resolved] = true
		return false
	})
}

type roleDir struct {
	dir   string
	roles role
}

// rolesByDir gives each directory of a layout once, with all its roles.
func rolesByDir(d layoutDirs) []roleDir {
	var list []roleDir
	for i, dir := range []string{d.data, d.state, d.config} {
		r := role(1 << i)
		if at := slices.IndexFunc(list, func(rd roleDir) bool { return rd.dir == dir }); at >= 0 {
			list[at].roles |= r
			continue
		}
		list = append(list, roleDir{dir, r})
	}
	return list
}

// listRole lists the store files below a directory that plays roles.
func (l *lister) listRole(layout int, dir string, roles role) {
	for _, s := range subDirs {
		if s.roles&roles == 0 {
			continue
		}
		stores := storesBelow(roles, s.sub)
		entries, at, ok := l.readDir(layout, homefs.Join(dir, s.sub), stores)
		if !ok {
			if s.sub == "" {
				return // nothing below it can be there either
			}
			continue
		}
		if s.sub == "logs/llm" {
			for _, e := range entries {
				if !logDate.MatchString(e.Name) || e.Kind == homefs.Regular || e.Kind == homefs.Irregular {
					continue
				}
				day := homefs.Join(dir, s.sub, e.Name)
				if logs, at, ok := l.readDir(layout, day, stores); ok {
					l.take(layout, roles, s.sub+"/"+e.Name, day, at, logs)
				}
			}
			continue
		}
		l.take(layout, roles, s.sub, homefs.Join(dir, s.sub), at, entries)
	}
}

// readDir lists a directory of stores, which may be reached through links, and
// gives its path without them. A directory that is there and cannot be listed
// leaves its stores unreadable: what they hold is not known.
func (l *lister) readDir(layout int, name string, stores []Store) (entries []homefs.Entry, resolved string, ok bool) {
	resolved, info, err := homefs.Resolve(l.tree, name, l.absolute)
	fail := func(status Status, note string, ref any) {
		for _, s := range stores {
			l.files = append(l.files, found{
				File: File{
					Store: s, Path: l.path(name), Rel: l.rel(name),
					Status: status, Note: note, Size: -1,
				},
				name: name, layout: layout, ref: ref,
			})
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if own, lerr := l.tree.Lstat(name); lerr == nil && own.Kind == homefs.Link {
			fail(Unreadable, noteSymlink, nil) // dangles
		}
		return nil, "", false
	case errors.Is(err, homefs.ErrOutside), errors.Is(err, homefs.ErrLoop),
		err == nil && (!l.within(resolved) || resolved != name && isCredential(l.rel(resolved)+"/")):
		if l.reachable(name) {
			fail(Unreadable, noteSymlink, nil)
		}
		return nil, "", false
	case err != nil:
		l.unlisted(name, err)
		fail(Unreadable, err.Error(), nil)
		return nil, "", false
	case info.Ref != nil && info.Kind != homefs.Dir:
		// It is known from a manifest alone.
		status, note := info.Ref.(*manifestRow).fate()
		fail(status, note, info.Ref)
		return nil, "", false
	case info.Kind != homefs.Dir:
		fail(Unreadable, noteNotDir, nil)
		return nil, "", false
	}
	entries, err = l.tree.ReadDir(resolved)
	if err != nil {
		l.unlisted(name, err)
		fail(Unreadable, err.Error(), nil)
	}
	return entries, resolved, err == nil || len(entries) > 0
}

// reachable reports whether the link that makes name unreadable is within the
// role's directory or is that directory: a link above it, such as a .config
// that leads elsewhere, is no trace of Goose.
func (l *lister) reachable(name string) bool {
	parent, _, err := homefs.Resolve(l.tree, path.Dir(name), l.absolute)
	return err == nil && l.within(parent)
}

func (l *lister) unlisted(name string, err error) {
	l.issues = append(l.issues, unreadableDirectory(l.path(name), err))
}

func unreadableDirectory(path string, err error) Issue {
	return Issue{
		Code: "unreadable_directory", Path: path,
		Message: fmt.Sprintf("directory %s could not be listed: %v", path, err),
	}
}

// Notes of files that are not opened.
const (
	noteSymlink    = "symlink"
	noteNotRegular = "not a regular file"
	noteIsDir      = "a directory"
	noteNotDir     = "not a directory"
)

// take picks the store files out of the entries of one directory.
func (l *lister) take(layout int, roles role, sub, dir, at string, entries []homefs.Entry) {
	var db *found
	var wal, journal *found
	for _, e := range entries {
		store, listed, ok := classify(roles, sub, e.Name)
		companion := isCompanion(roles, sub, e.Name)
		if !ok && !companion {
			continue
		}
		f := l.file(layout, homefs.Join(dir, e.Name), homefs.Join(at, e.Name), e.Kind, listed)
		f.Store = store
		switch {
		case companion && e.Name == walName:
			wal = &f
		case companion:
			journal = &f
		case e.Name == databaseName && store == SessionsDB:
			db = &f
		default:
			l.files = append(l.files, f)
		}
	}
	if db == nil && wal == nil && journal == nil {
		return
	}
	if db != nil && db.resolved != "" && path.Dir(db.resolved) != at {
		// SQLite keeps the log beside the file that a link leads to.
		wal, journal = l.beside(layout, db.resolved+"-wal"), l.beside(layout, db.resolved+"-journal")
	}
	if db == nil {
		db = &found{
			File: File{
				Path: l.path(homefs.Join(dir, databaseName)), Rel: l.rel(homefs.Join(dir, databaseName)),
				Status: Missing, Note: "write-ahead log without its database", Size: -1,
			},
			name: homefs.Join(dir, databaseName), layout: layout,
		}
		if wal == nil {
			db.Note = "rollback journal without its database"
		}
	}
	db.Store = SessionsDB
	db.addCompanions(wal, journal)
	l.files = append(l.files, *db)
}

// beside describes a companion that may not be there.
func (l *lister) beside(layout int, name string) *found {
	info, err := l.tree.Lstat(name)
	if err != nil {
		return nil
	}
	f := l.file(layout, name, name, info.Kind, false)
	return &f
}

// addCompanions ties the write-ahead log and the journal to their database. One
// that is there and cannot be read leaves the database partial.
func (f *found) addCompanions(wal, journal *found) {
	for _, c := range []struct {
		file *found
		word string
		to   **Companion
		at   *string
	}{{wal, "WAL", &f.WAL, &f.wal}, {journal, "journal", &f.Journal, &f.journal}} {
		if c.file == nil {
			continue
		}
		*c.at = c.file.resolved
		switch {
		case c.file.Status == Read || c.file.Status == Empty:
			*c.to = &Companion{Local: c.file.Local, Size: c.file.Size, MTime: c.file.MTime, SHA256: c.file.SHA256}
			if c.file.Cut {
				f.Cut = true
				f.addNote(c.word + ": " + c.file.Note)
			}
		case f.ref != nil:
			// The database is not there either, and its own line tells why.
		default:
			f.WALMissing = true
			f.addNote(c.word + ": " + cmp.Or(c.file.Note, string(c.file.Status)))
		}
	}
	if f.Status == Empty && (f.WALMissing || f.WAL != nil && f.WAL.Size > 0 || f.Journal != nil && f.Journal.Size > 0) {
		f.Status = Read
	}
}

func (f *File) addNote(note string) {
	if f.Note != "" {
		f.Note += "; "
	}
	f.Note += note
}

// file describes one file: name is the path by which the home has it, at the
// one without links above it.
func (l *lister) file(layout int, name, at string, kind homefs.Kind, listed bool) found {
	f := found{
		File: File{Path: l.path(name), Rel: l.rel(name), Status: Read, Size: -1},
		name: name, resolved: at, layout: layout,
	}
	refuse := func(note string) found {
		f.Status, f.Note, f.resolved = Unreadable, note, ""
		return f
	}
	if kind == homefs.Link {
		target, info, err := homefs.Resolve(l.tree, at, l.absolute)
		if err != nil || !l.within(target) || isCredential(l.rel(target)) {
			return refuse(noteSymlink)
		}
		f.resolved, kind = target, info.Kind
	}
	switch kind {
	case homefs.Regular:
	case homefs.Dir:
		return refuse(noteIsDir)
	default:
		return refuse(noteNotRegular)
	}
	describe := l.tree.Probe
	if listed {
		describe = l.tree.Lstat
	}
	info, err := describe(f.resolved)
	if err != nil {
		return refuse(err.Error())
	}
	f.ref = info.Ref
	f.Size, f.MTime = info.Size, info.MTime
	switch {
	case info.Ref != nil:
		f.Status, f.Note = info.Ref.(*manifestRow).fate()
		return f
	case listed:
		f.Status = NotRead
		return f
	case info.Problem != "":
		f.Status, f.Note = Unreadable, info.Problem
		return f
	}
	f.Local, f.SHA256 = info.Local, info.SHA256
	if info.Cut != 0 {
		f.Cut = true
		f.Note = "the archive is damaged within the file"
		if info.Cut > 0 {
			f.Note = fmt.Sprintf("the archive is damaged within the file: the last %d bytes are lost", info.Cut)
		}
	} else if f.Size == 0 {
		f.Status = Empty
	}
	return f
}
