// Package synthtest gives benchmarks their input and their figures.
package synthtest

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"gander/cmd/gander-synth/synth"
)

// MB is the size of the input that a benchmark is to run on: GANDER_BENCH_MB,
// 8 without it.
func MB(tb testing.TB) float64 {
	text := os.Getenv("GANDER_BENCH_MB")
	if text == "" {
		return 8
	}
	mb, err := strconv.ParseFloat(text, 64)
	if err != nil {
		tb.Fatalf("GANDER_BENCH_MB: %v", err)
	}
	return mb
}

// Fleet writes a fleet and returns its directory.
func Fleet(tb testing.TB, o synth.Options) (string, synth.Counts) {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "fleet")
	counts, err := synth.Write(tb.Context(), dir, o)
	if err != nil {
		tb.Fatal(err)
	}
	return dir, counts
}

// Database writes the sessions.db of one home of MB megabytes and returns its path.
func Database(tb testing.TB) (string, synth.Counts) {
	tb.Helper()
	o := synth.Defaults()
	o.MB = MB(tb)
	dir, counts := Fleet(tb, o)
	paths, err := filepath.Glob(filepath.Join(dir, "*", "home", "*", ".local", "share", "goose", "sessions", "sessions.db"))
	if err != nil || len(paths) != 1 {
		tb.Fatalf("databases %v, %v", paths, err)
	}
	return paths[0], counts
}

// Meter measures a benchmark from Start to Report.
type Meter struct {
	b       *testing.B
	mallocs uint64
}

// Start is called before the loop.
func Start(b *testing.B) *Meter {
	b.Helper()
	runtime.GC()
	resetPeak()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return &Meter{b, m.Mallocs}
}

// Report reports what a round of the loop was done with: bytes of input and
// rows of output. It is called after the loop.
func (m *Meter) Report(bytes, rows int64) {
	m.b.Helper()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	rounds, seconds := float64(m.b.N), m.b.Elapsed().Seconds()
	m.b.ReportMetric(float64(bytes)*rounds/1e6/seconds, "MB/s")
	m.b.ReportMetric(float64(rows)*rounds/seconds, "rows/s")
	m.b.ReportMetric(float64(now.Mallocs-m.mallocs)/rounds/float64(rows), "allocs/row")
	if peak := peak(); peak > 0 {
		m.b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
	}
}

// resetPeak makes the peak of the process what it holds now, where Linux lets it.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peak is the most memory that the process held, 0 where that is not told.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
	return kib << 10
}
