package homefs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Mem is a tree that is put together entry by entry, such as the listing of an
// archive. It is safe for concurrent readers once nothing is added any more.
type Mem struct {
	root node
}

type node struct {
	info   Info
	target string // of a link
	kids   map[string]*node
}

// ErrConflict says that a file stands where a directory is needed, or a
// directory where a file is to be put.
var ErrConflict = errors.New("a file and a directory have the same name")

// NewMem returns an empty tree.
func NewMem() *Mem {
	return &Mem{root: node{info: Info{Kind: Dir}}}
}

// Put adds an entry with the directories above it. An entry that is there
// already is replaced, unless one of the two is a directory: two directories
// are one, and anything else is ErrConflict and changes nothing.
func (m *Mem) Put(name string, info Info, target string) error {
	parts := Split(name)
	if len(parts) == 0 {
		if info.Kind == Dir {
			return nil
		}
		return ErrConflict
	}
	// Look before building, so that a refused entry leaves no directories.
	n := &m.root
	for i, part := range parts {
		kid := n.kids[part]
		if kid == nil {
			break
		}
		wantDir := i < len(parts)-1 || info.Kind == Dir
		if wantDir != (kid.info.Kind == Dir) {
			return fmt.Errorf("%w: %s", ErrConflict, strings.Join(parts[:i+1], "/"))
		}
		n = kid
	}
	n = &m.root
	for _, part := range parts[:len(parts)-1] {
		kid := n.kids[part]
		if kid == nil {
			kid = &node{info: Info{Kind: Dir}}
			n.put(part, kid)
		}
		n = kid
	}
	last := parts[len(parts)-1]
	if n.kids[last] != nil && info.Kind == Dir {
		return nil
	}
	n.put(last, &node{info: info, target: target})
	return nil
}

func (n *node) put(name string, kid *node) {
	if n.kids == nil {
		n.kids = make(map[string]*node)
	}
	n.kids[name] = kid
}

func (m *Mem) find(name string) (*node, error) {
	n := &m.root
	for _, part := range Split(name) {
		if n = n.kids[part]; n == nil {
			return nil, fs.ErrNotExist
		}
	}
	return n, nil
}

// ReadDir implements Tree.
func (m *Mem) ReadDir(dir string) ([]Entry, error) {
	n, err := m.find(dir)
	if err != nil {
		return nil, err
	}
	if n.info.Kind != Dir {
		return nil, errors.New("not a directory")
	}
	entries := make([]Entry, 0, len(n.kids))
	for name, kid := range n.kids {
		entries = append(entries, Entry{Name: name, Kind: kid.info.Kind})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// Lstat implements Tree.
func (m *Mem) Lstat(name string) (Info, error) {
	n, err := m.find(name)
	if err != nil {
		return Info{}, err
	}
	return n.info, nil
}

// Readlink implements Tree.
func (m *Mem) Readlink(name string) (string, error) {
	n, err := m.find(name)
	if err != nil {
		return "", err
	}
	if n.info.Kind != Link {
		return "", errors.New("not a link")
	}
	return n.target, nil
}

// Probe implements Tree.
func (m *Mem) Probe(name string) (Info, error) { return m.Lstat(name) }
