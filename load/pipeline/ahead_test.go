package pipeline

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"gander/schemas"
	"gander/schemas/batch"
	"gander/testdata/fixture"
)

// numbered yields n batches of one issue each, the last with an error or a
// panic when there is one.
func numbered(mem memory.Allocator, n int, err error, panics string) func(context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(context.Context) iter.Seq2[arrow.RecordBatch, error] {
		return func(yield func(arrow.RecordBatch, error) bool) {
			set := batch.NewSet(mem, func(rec arrow.RecordBatch) bool { return yield(rec, nil) })
			defer set.Release()
			for i := range n {
				w := set.Table(schemas.RawIssues)
				w.Text(strings.Repeat("x", i))
				w.Text("message")
				w.Null()
				w.Null()
				w.Null()
				w.End()
				if set.Flush(); set.Stopped() {
					return
				}
			}
			if panics != "" {
				panic(panics)
			}
			if err != nil {
				yield(nil, err)
			}
		}
	}
}

func TestReadAhead(t *testing.T) {
	failure := errors.New("no more")
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		n      int
		err    error
		panics string
		until  int // batches that are ranged over
		want   string
	}{
		{name: "none", until: 9},
		{name: "all", n: 5, until: 9},
		{name: "the first", n: 5, until: 1},
		{name: "not ranged over", n: 5},
		{name: "error", n: 2, err: failure, until: 9, want: "no more"},
		{name: "panic", n: 2, panics: "a bug", until: 9, want: "panic: a bug"},
		{name: "canceled", ctx: canceled, n: 5, until: 9, want: context.Canceled.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer mem.AssertSize(t, 0)
			ctx := c.ctx
			if ctx == nil {
				ctx = context.Background()
			}
			ahead, stop := readAhead(ctx, 1, numbered(mem, c.n, c.err, c.panics))
			defer stop()
			got, failed := 0, error(nil)
			if c.until > 0 {
				for rec, err := range ahead {
					if err != nil {
						failed = err
						break
					}
					if n := rec.Column(0).ValueStr(0); len(n) != got {
						t.Errorf("batch %d is %q", got, n)
					}
					rec.Release()
					if got++; got == c.until {
						break
					}
				}
			}
			if c.ctx == nil && got != min(c.n, c.until) {
				t.Errorf("%d batches of %d", got, c.n)
			}
			if c.want == "" && failed != nil || c.want != "" && (failed == nil || !strings.HasPrefix(failed.Error(), c.want)) {
				t.Errorf("error %v, want %q", failed, c.want)
			}
		})
	}
}

// Deleted rows are the same whether they are looked for beside the reading or after.
func TestDeletedBesideOrAfter(t *testing.T) {
	input := filepath.Join(t.TempDir(), "homes")
	sessions := filepath.Join(input, "home", "u", ".local", "share", "goose", "sessions")
	if err := os.MkdirAll(sessions, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := fixture.Database(filepath.Join(sessions, "sessions.db"), `-- fixture: wal
		CREATE TABLE sessions (id TEXT PRIMARY KEY, working_dir TEXT, created_at TIMESTAMP);
		CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER);
		INSERT INTO sessions VALUES ('20261001_1', '/w', '2026-10-01 08:00:00');
		INSERT INTO messages VALUES (1, 'm1', '20261001_1', 'user', '[{"type":"text","text":"kept"}]', 1790840000);
		INSERT INTO messages VALUES (2, 'm2', '20261001_1', 'user', '[{"type":"text","text":"gone"}]', 1790840001);
		DELETE FROM messages WHERE id = 2;`); err != nil {
		t.Fatal(err)
	}
	var rows [2]map[string]int64
	for i, others := range []int64{0, 1 << 20} {
		w := open(t)
		r := Runner{Warehouse: w, RunID: "r", Workers: 1}
		r.reading.Store(others - 1) // Run itself adds one
		sum, err := r.Run(context.Background(), jobs(t, w, input))
		if err != nil {
			t.Fatal(err)
		}
		rows[i] = sum.Rows
	}
	if rows[0][schemas.RecoveredRows.Name] == 0 {
		t.Fatal("no row was recovered")
	}
	if diff := cmp.Diff(rows[0], rows[1]); diff != "" {
		t.Error(diff)
	}
}
