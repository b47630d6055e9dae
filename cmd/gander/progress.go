package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"gander/extract"
	"gander/schemas/fault"
)

// meter shows how many bytes of a long work are done: a bar on a terminal, a
// line now and then elsewhere.
type meter struct {
	done, total atomic.Int64
	before      func() string // what stands before the bar
	after       func() string // and behind the bytes
	bars        *mpb.Progress
	bar         *mpb.Bar
	stop        chan struct{}
	stopped     chan struct{}
}

// lineEvery is how often work that is shown on no terminal says how far it is.
const lineEvery = 10 * time.Second

// start begins to show the meter on w, and in lines of log where w is no terminal.
func (m *meter) start(w io.Writer, log *slog.Logger, doing string) {
	if terminal(w) {
		m.bars = mpb.New(mpb.WithOutput(w), mpb.WithWidth(40))
		m.bar = m.bars.AddBar(0,
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return m.before() + " " })),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return " " + m.bytes() + m.after() })),
			mpb.BarRemoveOnComplete())
		m.update()
		return
	}
	m.stop, m.stopped = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(m.stopped)
		tick := time.NewTicker(lineEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				log.Info(doing, "done", m.before(), "bytes", m.bytes()+m.after())
			case <-m.stop:
				return
			}
		}
	}()
}

func (m *meter) bytes() string { return size(m.done.Load()) + " of " + size(m.total.Load()) }

// update draws the bar anew after done or total changed.
func (m *meter) update() {
	if m.bar != nil {
		// A bar that is full is taken away, and not all is known at first.
		m.bar.SetTotal(max(m.total.Load(), m.done.Load())+1, false)
		m.bar.SetCurrent(m.done.Load())
	}
}

// finish takes the bar away, whether it is full or not.
func (m *meter) finish() {
	if m.bars != nil {
		m.bar.Abort(true)
		m.bars.Wait()
		return
	}
	close(m.stop)
	<-m.stopped
}

// unpacking shows how far the archives are read.
type unpacking struct {
	meter
	read map[string]extract.Progress
}

func newUnpacking() *unpacking {
	u := &unpacking{read: map[string]extract.Progress{}}
	u.before = func() string { return "archives" }
	u.after = func() string { return "" }
	return u
}

// progress takes what extract tells, one call at a time.
func (u *unpacking) progress(p extract.Progress) {
	last := u.read[p.Input]
	u.done.Add(min(p.Read, p.Size) - min(last.Read, last.Size))
	u.total.Add(p.Size - last.Size)
	u.read[p.Input] = p
	u.update()
}

// reading shows how far the homes are read. It implements pipeline.Observer.
type reading struct {
	meter
	log         *slog.Logger
	homes, rows atomic.Int64
	started     time.Time
}

func newReading(log *slog.Logger, homes, bytes int64) *reading {
	r := &reading{log: log, started: time.Now()}
	r.total.Store(bytes)
	r.before = func() string { return grouped(r.homes.Load()) + " of " + plural(homes, "home") }
	r.after = func() string { return ", " + grouped(r.rate()) + " rows/s" }
	return r
}

func (r *reading) rate() int64 {
	return int64(float64(r.rows.Load()) / max(time.Since(r.started).Seconds(), 0.001))
}

// Rows implements pipeline.Observer.
func (r *reading) Rows(n int64) { r.rows.Add(n) }

// Bytes implements pipeline.Observer.
func (r *reading) Bytes(n int64) {
	r.done.Add(n)
	r.update()
}

// Home implements pipeline.Observer. A failure is told at once where there is
// no bar in the way; the summary has it in any case.
func (r *reading) Home(id string, err error) {
	r.homes.Add(1)
	r.update()
	if err == nil || r.bar != nil || errors.Is(err, context.Canceled) {
		return
	}
	about := []any{"home", id, "error", fmt.Sprint(err)}
	if hint := fault.HintOf(err); hint != "" {
		about = append(about, "hint", hint)
	}
	r.log.Error("home failed", about...)
}
