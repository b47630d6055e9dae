package homefs

import (
	"path"
	"strings"
	"time"
)

// Kind is what an entry of a directory is.
type Kind uint8

// The kinds of entries. Irregular is everything that is neither a directory, a
// symbolic link nor a regular file: fifos, sockets, devices.
const (
	Regular Kind = iota + 1
	Dir
	Link
	Irregular
)

// Entry is one name in a directory. Its kind is that of the name itself, links
// are not followed.
type Entry struct {
	Name string
	Kind Kind
}

// Info describes one entry of a tree.
type Info struct {
	Kind   Kind
	Size   int64     // bytes; -1 when unknown
	MTime  time.Time // zero when unknown
	Local  string    // where the bytes can be opened; "" when nowhere
	SHA256 string    // lower-case hex, "" when nobody has hashed the bytes

	// Cut is the number of bytes that Local lacks at its end, because an archive
	// was damaged there; -1 when it is not known how many.
	Cut int64
	// Problem says why a regular file has no bytes to offer.
	Problem string
	// Ref is whatever the maker of a Mem attached to the entry.
	Ref any
}

// Tree is a hierarchy of directories, as it was found: links are not followed
// by any method. Implementations are safe for concurrent readers.
type Tree interface {
	// ReadDir lists a directory in the order of names. With an error come the
	// entries that could be listed before it.
	ReadDir(dir string) ([]Entry, error)
	// Lstat describes an entry; the error is fs.ErrNotExist when there is none.
	Lstat(name string) (Info, error)
	// Readlink gives the target of a link, as it is stored.
	Readlink(name string) (string, error)
	// Probe is Lstat for a regular file that also proves that its bytes, where
	// Local is set, can be opened.
	Probe(name string) (Info, error)
}

// Join joins paths of a tree.
func Join(elem ...string) string {
	p := path.Join(elem...)
	if p == "" {
		return "."
	}
	return p
}

// Within reports whether name is dir or lies below it.
func Within(dir, name string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// Below gives name relative to dir, in which it must lie; "" for dir itself.
func Below(dir, name string) string {
	switch {
	case name == dir:
		return ""
	case dir == ".":
		return name
	default:
		return name[len(dir)+1:]
	}
}

// Split gives the components of a path of a tree, none for the root.
func Split(name string) []string {
	if name == "." || name == "" {
		return nil
	}
	return strings.Split(name, "/")
}
