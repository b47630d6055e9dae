package homefs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Disk is the tree below a directory of this machine.
type Disk struct {
	root string
}

// NewDisk returns the tree below root, an absolute path.
func NewDisk(root string) *Disk { return &Disk{root: root} }

// Root returns the directory that the tree shows.
func (d *Disk) Root() string { return d.root }

// Path gives the path by which the os package finds an entry.
func (d *Disk) Path(name string) string {
	if name == "." {
		return d.root
	}
	return filepath.Join(d.root, filepath.FromSlash(name))
}

// ReadDir implements Tree. It costs no stat per entry.
func (d *Disk) ReadDir(dir string) ([]Entry, error) {
	list, err := os.ReadDir(d.Path(dir))
	entries := make([]Entry, len(list))
	for i, e := range list {
		entries[i] = Entry{Name: e.Name(), Kind: kindOf(e.Type())}
	}
	return entries, cause(err)
}

// Lstat implements Tree.
func (d *Disk) Lstat(name string) (Info, error) {
	local := d.Path(name)
	fi, err := os.Lstat(local)
	if err != nil {
		return Info{}, cause(err)
	}
	return diskInfo(fi, local), nil
}

// Readlink implements Tree.
func (d *Disk) Readlink(name string) (string, error) {
	target, err := os.Readlink(d.Path(name))
	return target, cause(err)
}

// Probe implements Tree: the file is opened and closed, nothing is read.
func (d *Disk) Probe(name string) (Info, error) {
	local := d.Path(name)
	f, err := OpenEvidence(local)
	if err != nil {
		return Info{}, cause(err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return Info{}, cause(err)
	}
	return diskInfo(fi, local), nil
}

// ErrNotRegular says that a path leads to something other than a regular file.
var ErrNotRegular = errors.New("not a regular file")

// OpenEvidence opens a regular file for reading only. It waits for nothing,
// follows no link at the end of the path where the system can refuse to, and
// asks for the access time to be left alone where the system lets it.
func OpenEvidence(local string) (*os.File, error) {
	// Some devices act on being opened, so the kind is looked at first; the
	// second look is for what was swapped in between.
	fi, err := os.Lstat(local)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: local, Err: ErrNotRegular}
	}
	f, err := openQuietly(local)
	if err != nil {
		return nil, err
	}
	if fi, err = f.Stat(); err == nil && !fi.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: local, Err: ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func diskInfo(fi fs.FileInfo, local string) Info {
	return Info{Kind: kindOf(fi.Mode()), Size: fi.Size(), MTime: fi.ModTime().UTC(), Local: local}
}

func kindOf(m fs.FileMode) Kind {
	switch {
	case m.IsDir():
		return Dir
	case m&fs.ModeSymlink != 0:
		return Link
	case m.IsRegular():
		return Regular
	default:
		return Irregular
	}
}

// cause strips the path off an error: it is a path of this machine, and what
// becomes of the error names the file by its path on the source host.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
