package pipeline

import (
	"errors"
	"sync"
	"time"

	"gander/load/warehouse"
)

// A commit takes a few dozen waits for the disk, for one home or for many: of
// small homes, those that are finished within a moment share them.
const (
	together = 64 // homes at most
	moment   = time.Second
)

// committer commits homes on a goroutine of its own while others are read.
type committer struct {
	warehouse *warehouse.Warehouse
	waiting   chan waiting
	done      chan struct{}

	mu  sync.Mutex
	err error // the first that ends the run
}

// waiting is a home to commit, and who is told what became of it.
type waiting struct {
	finished
	ended func(error) error
}

func newCommitter(w *warehouse.Warehouse) *committer {
	c := &committer{warehouse: w, waiting: make(chan waiting, together), done: make(chan struct{})}
	go func() {
		defer close(c.done)
		for first := range c.waiting {
			c.commit(c.gather(first))
		}
	}()
	return c
}

// gather waits a moment for homes to commit with the first.
func (c *committer) gather(first waiting) []waiting {
	homes := []waiting{first}
	over := time.After(moment)
	for len(homes) < together {
		select {
		case next, ok := <-c.waiting:
			if !ok {
				return homes
			}
			homes = append(homes, next)
		case <-over:
			return homes
		}
	}
	return homes
}

func (c *committer) commit(homes []waiting) {
	commits := make([]warehouse.Commit, len(homes))
	for i, h := range homes {
		commits[i] = h.commit
	}
	for i, err := range c.warehouse.Commit(commits...) {
		err = errors.Join(err, homes[i].commit.Stage.Abort())
		if err = homes[i].ended(err); err != nil {
			c.mu.Lock()
			if c.err == nil {
				c.err = err
			}
			c.mu.Unlock()
		}
	}
}

// add commits a finished home some time, and calls ended with what came of it:
// it returns an error that ends the run. The error of add is one of an earlier
// home; the home is committed all the same, if it can be.
func (c *committer) add(f finished, ended func(error) error) error {
	c.waiting <- waiting{f, ended}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// close waits until every home is committed.
func (c *committer) close() error {
	close(c.waiting)
	<-c.done
	return c.err
}
