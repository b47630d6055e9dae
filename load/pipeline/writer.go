package pipeline

import (
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"gander/load/parquet"
)

// ahead is how many batches may wait for the writer: encoding and compressing
// take about as long as everything before them, and so have a core of their own.
const ahead = 8

// writer passes batches to Parquet on a goroutine of its own, in order. Its
// methods are for one goroutine.
type writer struct {
	parquet *parquet.Writer
	batches chan arrow.RecordBatch
	done    chan struct{}
	once    sync.Once

	mu  sync.Mutex
	err error // the first of Write
}

func newWriter(w *parquet.Writer) *writer {
	p := &writer{parquet: w, batches: make(chan arrow.RecordBatch, ahead), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for rec := range p.batches {
			if p.failure() == nil {
				if err := p.write(rec); err != nil {
					p.mu.Lock()
					p.err = err
					p.mu.Unlock()
				}
			}
			rec.Release()
		}
	}()
	return p
}

// write is Write, with a panic of the encoder as an error: on a goroutine of
// its own it would end the program.
func (p *writer) write(rec arrow.RecordBatch) (err error) {
	defer recovered(&err)
	return p.parquet.Write(rec)
}

func (p *writer) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Write takes the batch over. The error may be of an earlier batch.
func (p *writer) Write(rec arrow.RecordBatch) error {
	if err := p.failure(); err != nil {
		rec.Release()
		return err
	}
	p.batches <- rec
	return nil
}

// stop waits until every batch is written or dropped.
func (p *writer) stop() {
	p.once.Do(func() { close(p.batches) })
	<-p.done
}

// Close finishes the files.
func (p *writer) Close() ([]parquet.File, error) {
	p.stop()
	if err := p.failure(); err != nil {
		return nil, err
	}
	return p.parquet.Close()
}

// Abort removes the files; after Close it does nothing.
func (p *writer) Abort() {
	p.stop()
	p.parquet.Abort()
}
