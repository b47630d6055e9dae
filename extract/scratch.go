package extract

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"

	"gander/extract/internal/homefs"
	"gander/schemas/fault"
)

// DefaultMaxScratchBytes bounds what is unpacked from all archives of a run
// when Options do not: 64 GiB.
const DefaultMaxScratchBytes = 64 << 30

// blockSize is what even the smallest file takes on a disk, in bytes: a bomb
// may also be made of many empty files.
const blockSize = 4096

func roundUp(n int64) int64 { return (n + blockSize - 1) / blockSize * blockSize }

// budget bounds the bytes that are unpacked, in blocks of 4 KiB. One file may
// take all of it.
type budget struct {
	max  int64
	left atomic.Int64
}

func newBudget(limit int64) *budget {
	if limit <= 0 {
		limit = DefaultMaxScratchBytes
	}
	b := &budget{max: limit}
	b.left.Store(limit)
	return b
}

func (b *budget) take(n int64) bool {
	if b.left.Add(-n) >= 0 {
		return true
	}
	b.left.Add(n)
	return false
}

func (b *budget) give(n int64) { b.left.Add(n) }

func (b *budget) String() string {
	return fmt.Sprintf("it does not fit into the %d bytes that may be unpacked", b.max)
}

// scratch is the directory below Options.Scratch that holds what was unpacked.
// It is made when it is first needed.
type scratch struct {
	parent string
	budget *budget

	mu   sync.Mutex
	dir  string
	root *os.Root
}

// archive returns the place for what is unpacked from the archive numbered n.
// Every path in it is made of numbers and fixed names, and os.Root keeps it
// from being led out through a link.
func (s *scratch) archive(n int) (*unpacked, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == nil {
		if s.parent == "" {
			return nil, &fault.Error{Kind: fault.Internal, Op: "unpack archive", Err: errors.New("no scratch directory was given")}
		}
		if err := os.MkdirAll(s.parent, 0o700); err != nil {
			return nil, s.fault(err)
		}
		dir, err := os.MkdirTemp(s.parent, "inputs-")
		if err != nil {
			return nil, s.fault(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, s.fault(errors.Join(err, os.Remove(dir)))
		}
		s.dir, s.root = dir, root
	}
	dir := fmt.Sprintf("a%d", n)
	if err := s.root.Mkdir(dir, 0o700); err != nil {
		return nil, s.fault(err)
	}
	return &unpacked{scratch: s, dir: dir}, nil
}

// close removes everything that was unpacked.
func (s *scratch) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == nil {
		return nil
	}
	err := s.root.Close()
	s.root = nil
	if err = errors.Join(err, os.RemoveAll(s.dir)); err != nil {
		return s.fault(err)
	}
	return nil
}

func (s *scratch) fault(err error) error {
	return &fault.Error{
		Kind: fault.Output, Op: "unpack to scratch", Path: s.parent, Err: err,
		Hint: "Make room on the disk of the warehouse, or put the warehouse on another one.",
	}
}

// unpacked is where the members of one archive go: a single directory, since
// making directories is what takes file systems longest.
type unpacked struct {
	*scratch
	dir string
}

func (u *unpacked) create(name string) (*os.File, error) {
	f, err := u.root.OpenFile(path.Join(u.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, u.fault(err)
	}
	return f, nil
}

func (u *unpacked) rename(from, to string) error {
	if err := u.root.Rename(path.Join(u.dir, from), path.Join(u.dir, to)); err != nil {
		return u.fault(err)
	}
	return nil
}

func (u *unpacked) remove(name string) {
	// Whatever stays goes with the whole directory.
	_ = u.root.Remove(path.Join(u.dir, name))
}

func (u *unpacked) path(name string) string {
	return filepath.Join(u.scratch.dir, u.dir, filepath.FromSlash(name))
}

// hashFile gives the SHA-256 of a file's bytes in lower-case hex.
func hashFile(ctx context.Context, local string) (string, error) {
	f, err := homefs.OpenEvidence(local)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.CopyBuffer(sum, &rawReader{ctx: ctx, r: f}, make([]byte, 256<<10)); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
