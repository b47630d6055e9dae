package homefs

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// Sub is the part of a tree below a directory.
type Sub struct {
	tree Tree
	dir  string
}

// NewSub returns the part of t below dir.
func NewSub(t Tree, dir string) *Sub { return &Sub{tree: t, dir: dir} }

// ReadDir implements Tree.
func (s *Sub) ReadDir(dir string) ([]Entry, error) { return s.tree.ReadDir(Join(s.dir, dir)) }

// Lstat implements Tree.
func (s *Sub) Lstat(name string) (Info, error) { return s.tree.Lstat(Join(s.dir, name)) }

// Readlink implements Tree.
func (s *Sub) Readlink(name string) (string, error) { return s.tree.Readlink(Join(s.dir, name)) }

// Probe implements Tree.
func (s *Sub) Probe(name string) (Info, error) { return s.tree.Probe(Join(s.dir, name)) }

// Overlay shows two trees as one: what Over lacks is looked for in Under. An
// entry that both have is that of Over; directories are merged.
type Overlay struct {
	Over, Under Tree
}

// ReadDir implements Tree.
func (o Overlay) ReadDir(dir string) ([]Entry, error) {
	over, err := o.Over.ReadDir(dir)
	missing := errors.Is(err, fs.ErrNotExist)
	under, err2 := o.Under.ReadDir(dir)
	if err2 != nil {
		return over, err
	}
	if missing {
		return under, nil
	}
	n := len(over)
	for _, e := range under {
		if _, found := slices.BinarySearchFunc(over[:n], e.Name, compareName); !found {
			over = append(over, e)
		}
	}
	slices.SortFunc(over, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return over, err
}

// Lstat implements Tree.
func (o Overlay) Lstat(name string) (Info, error) {
	return either(name, o.Over.Lstat, o.Under.Lstat)
}

// Readlink implements Tree.
func (o Overlay) Readlink(name string) (string, error) {
	return either(name, o.Over.Readlink, o.Under.Readlink)
}

// Probe implements Tree.
func (o Overlay) Probe(name string) (Info, error) {
	return either(name, o.Over.Probe, o.Under.Probe)
}

func either[T any](name string, over, under func(string) (T, error)) (T, error) {
	v, err := over(name)
	if errors.Is(err, fs.ErrNotExist) {
		if w, err2 := under(name); err2 == nil {
			return w, nil
		}
	}
	return v, err
}

// Find looks a name up in a listing.
func Find(entries []Entry, name string) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(entries, name, compareName)
	if !ok {
		return Entry{}, false
	}
	return entries[i], true
}

func compareName(e Entry, name string) int { return strings.Compare(e.Name, name) }
