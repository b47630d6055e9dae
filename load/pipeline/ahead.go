package pipeline

import (
	"cmp"
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// readAhead ranges over what records returns on a goroutine of its own, up to
// n batches ahead of who ranges over what readAhead returns. stop ends it,
// ranged over or not, and waits until it has ended.
func readAhead(ctx context.Context, n int, records func(context.Context) iter.Seq2[arrow.RecordBatch, error]) (ahead iter.Seq2[arrow.RecordBatch, error], stop func()) {
	type item struct {
		rec arrow.RecordBatch
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	items := make(chan item, n)
	var panicked error
	go func() {
		defer close(items)
		defer recovered(&panicked)
		for rec, err := range records(ctx) {
			select {
			case items <- item{rec, err}:
			case <-ctx.Done():
				if rec != nil {
					rec.Release()
				}
				return
			}
		}
	}()
	ahead = func(yield func(arrow.RecordBatch, error) bool) {
		for it := range items {
			if !yield(it.rec, it.err) {
				return
			}
		}
		if err := cmp.Or(panicked, ctx.Err()); err != nil {
			yield(nil, err)
		}
	}
	return ahead, func() {
		cancel()
		for it := range items {
			if it.rec != nil {
				it.rec.Release()
			}
		}
	}
}
