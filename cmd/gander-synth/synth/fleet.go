package synth

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// mtime is that of every file of a fleet.
var mtime = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// Write writes a fleet to dir, which must be empty or not there. A fleet that
// cannot be written whole is left as it is.
func Write(ctx context.Context, dir string, o Options) (Counts, error) {
	if err := o.Check(); err != nil {
		return Counts{}, err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return Counts{}, fmt.Errorf("%s is not empty", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Counts{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Counts{}, err
	}
	c := newCorpus(o.Seed)
	var mu sync.Mutex
	var total Counts
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range o.Homes {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			h := newHome(ctx, dir, i, &o, c)
			if err := h.write(); err != nil {
				return fmt.Errorf("home %d: %w", i+1, err)
			}
			mu.Lock()
			defer mu.Unlock()
			total.add(h.counts)
			return nil
		})
	}
	err := group.Wait()
	return total, err
}

// home is a home in the making. What is in it depends on the seed and on its
// number alone.
type home struct {
	ctx                 context.Context
	o                   *Options
	corpus              *corpus
	r                   *rand.Rand
	data, state, config string // directories
	userDir             string // of the user, as sessions name it
	wal                 bool

	db     *database
	counts Counts
	clock  int64 // seconds since 1970

	messageRow, sessionRow int64
	day                    string
	ofDay                  int      // sessions of day
	last                   *session // that a fork may copy
	prompts                []string
	recent                 []logged // the last replies
	files                  []string
}

func newHome(ctx context.Context, dir string, number int, o *Options, c *corpus) *home {
	h := &home{ctx: ctx, o: o, corpus: c, r: rand.New(rand.NewPCG(o.Seed, uint64(number)+1)),
		clock: time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC).Unix()}
	user := fmt.Sprintf("user%05d", number+1)
	if number%10 == 7 {
		goose := filepath.Join(dir, fmt.Sprintf("pc-%05d", number+1), "Users", user, "AppData", "Roaming", "Block", "goose")
		h.data, h.config = filepath.Join(goose, "data"), filepath.Join(goose, "config")
		h.state = h.data
		h.userDir = `C:\Users\` + user
	} else {
		root := filepath.Join(dir, fmt.Sprintf("host-%05d", number+1), "home", user)
		h.data, h.state, h.config = filepath.Join(root, ".local/share/goose"), filepath.Join(root, ".local/state/goose"), filepath.Join(root, ".config/goose")
		h.userDir = "/home/" + user
	}
	// Shares hold for a fleet of any size, not only by chance.
	h.wal = int(float64(number+1)*o.WAL) > int(float64(number)*o.WAL)
	return h
}

func (h *home) write() (err error) {
	target := int64(h.o.MB * 1e6)
	path := filepath.Join(h.data, "sessions", "sessions.db")
	if h.db, err = create(h.ctx, path, h.wal, target); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.db.discard()) }()
	if err := h.writeLegacy(); err != nil {
		return err
	}
	if h.o.LargestMB > 0 {
		size, err := h.db.size()
		if err != nil {
			return err
		}
		if err := h.largest(); err != nil {
			return err
		}
		grown, err := h.db.size()
		if err != nil {
			return err
		}
		target += grown - size // it comes on top
	}
	for n := 0; h.o.Sessions == 0 || n < h.o.Sessions; n++ {
		size, err := h.db.size()
		if err != nil {
			return err
		}
		if size >= target {
			break
		}
		if err := h.chat(target); err != nil {
			return err
		}
	}
	var salts [8]byte
	binary.BigEndian.PutUint64(salts[:], h.r.Uint64())
	if err := h.db.close(salts); err != nil {
		return err
	}
	h.files = append(h.files, path)
	if h.wal {
		h.files = append(h.files, path+"-wal")
		h.counts.WALs++
	}
	for _, f := range h.files {
		info, err := os.Stat(f)
		if err != nil {
			return err
		}
		h.counts.DatabaseBytes += info.Size()
		if err := os.Chtimes(f, mtime, mtime); err != nil {
			return err
		}
	}
	h.counts.Homes++
	if err := h.writeLogs(); err != nil {
		return err
	}
	return h.writeHistory()
}
