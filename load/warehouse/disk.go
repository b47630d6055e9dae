package warehouse

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sync/errgroup"

	"gander/schemas/fault"
)

// disk does the file operations of the protocol one at a time. Its errors are
// of kind fault.Output and name the path.
type disk struct {
	// before, when set, is called before each change with what will be done.
	// Tests crash in it.
	before func(op, path string)
	// volatile skips waiting for the disk: a test that only pretends to crash
	// loses nothing that was written.
	volatile bool
}

func (d disk) step(op, path string) {
	if d.before != nil {
		d.before(op, path)
	}
}

// mkdir makes a directory 0700 whatever the umask; one that is there is left as it is.
func (d disk) mkdir(path string) error {
	d.step("mkdir", path)
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		if info, serr := os.Stat(path); serr == nil && info.IsDir() {
			return nil
		}
	}
	if err == nil {
		err = os.Chmod(path, 0o700)
	}
	return OutputError("create directory", path, err)
}

// rename moves a file or directory within the warehouse.
func (d disk) rename(from, to string) error {
	d.step("rename", to)
	return OutputError("move into place", to, os.Rename(from, to))
}

// removeAll removes a tree, one entry at a time from the leaves up.
func (d disk) removeAll(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return OutputError("remove", path, err)
	}
	if info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return OutputError("remove", path, err)
		}
		for _, e := range entries {
			if err := d.removeAll(filepath.Join(path, e.Name())); err != nil {
				return err
			}
		}
	}
	d.step("remove", path)
	return OutputError("remove", path, os.Remove(path))
}

// write makes a durable file, 0600 whatever the umask.
func (d disk) write(path string, body []byte) error {
	d.step("write", path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return OutputError("write", path, err)
	}
	err = f.Chmod(0o600)
	if err == nil {
		_, err = f.Write(body)
	}
	if err == nil && !d.volatile {
		err = f.Sync()
	}
	return OutputError("write", path, errors.Join(err, f.Close()))
}

// writeJSON makes or replaces a durable file at once, by way of tmp.
func (d disk) writeJSON(path, tmp string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return &fault.Error{Kind: fault.Internal, Op: "encode", Path: path, Err: err}
	}
	if err := d.write(tmp, append(body, '\n')); err != nil {
		return err
	}
	if err := d.rename(tmp, path); err != nil {
		return err
	}
	return d.sync(filepath.Dir(path))
}

// sync makes a file's bytes, or the entries of a directory, durable.
func (d disk) sync(path string) error {
	d.step("sync", path)
	if d.volatile {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return OutputError("sync", path, err)
	}
	err = f.Sync()
	if runtime.GOOS == "windows" || errors.Is(err, syscall.EINVAL) {
		err = nil // no such thing for a directory opened to read, or on this file system
	}
	return OutputError("sync", path, errors.Join(err, f.Close()))
}

// syncAll makes several files or directories durable, as many at a time as
// slots has room for.
func (d disk) syncAll(paths []string, slots chan struct{}) error {
	var group errgroup.Group
	for _, path := range paths {
		if d.before != nil {
			if err := d.sync(path); err != nil {
				return err
			}
			continue
		}
		slots <- struct{}{}
		group.Go(func() error {
			defer func() { <-slots }()
			return d.sync(path)
		})
	}
	return group.Wait()
}

// OutputError is err, which is the disk's of the warehouse, as an error of kind
// fault.Output: it names the path, once, and says what can be done. It is nil
// without err, and err where that is a fault already.
func OutputError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var fe *fault.Error
	if errors.As(err, &fe) {
		return err
	}
	hint := "Homes that are committed are kept: run again when the cause is gone."
	switch {
	case errors.Is(err, syscall.ENOSPC):
		hint = "Free some space on the disk of the warehouse, then run again: homes that are committed are kept."
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		hint = "Choose a warehouse that you may write with -w, or change the permissions of this one."
	}
	var pe *fs.PathError
	if errors.As(err, &pe) && pe.Path == path {
		err = pe.Err
	}
	return &fault.Error{Kind: fault.Output, Op: op, Path: path, Err: err, Hint: hint}
}
