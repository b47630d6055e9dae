package sqlitefile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// words is a text of n bytes that differs with its seed.
func words(seed, n int) string {
	s := fmt.Sprintf("text number %d ", seed)
	return strings.Repeat(s, n/len(s)+1)[:n]
}

const rowsOfT = "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b, c REAL, m TEXT NOT NULL)"

func (l *lab) insert(from, to, size int) {
	l.t.Helper()
	l.run("BEGIN")
	for id := from; id <= to; id++ {
		l.run("INSERT INTO t VALUES(?, ?, ?, ?, 'row of t')", id, words(id, size), id, float64(id)/2)
	}
	l.do("COMMIT")
}

// counts is how many versions came out by evidence, and how many of them
// without their rowid.
func counts(out []got) string {
	var n [4]int
	headless := 0
	for _, g := range out {
		n[g.evidence]++
		if g.headless {
			headless++
		}
	}
	return fmt.Sprint(n, headless)
}

// What is left in the main file of rows that were deleted before it was
// copied, in each way that a page can keep them or not.
func TestRemains(t *testing.T) {
	for _, c := range []struct {
		name   string
		page   int
		secure bool
		life   func(l *lab)
		want   string // wal_committed, wal_stale, free_page, free_space; of these without rowid
	}{
		{"nothing deleted", 4096, false, func(l *lab) { l.insert(1, 50, 50) }, "[0 0 0 0] 0"},
		{"whole table", 4096, false, func(l *lab) {
			// 50 rows are a root and two leaves; the root is rewritten.
			l.insert(1, 50, 100)
			l.do("DELETE FROM t")
		}, "[0 0 50 0] 0"},
		{"whole table, secure", 4096, true, func(l *lab) { l.insert(1, 50, 100); l.do("DELETE FROM t") }, "[0 0 0 0] 0"},
		{"one in the middle", 4096, false, func(l *lab) {
			l.insert(1, 20, 100)
			l.do("DELETE FROM t WHERE id = 10")
		}, "[0 0 0 1] 1"},
		{"one in the middle, secure", 4096, true, func(l *lab) {
			l.insert(1, 20, 100)
			l.do("DELETE FROM t WHERE id = 10")
		}, "[0 0 0 0] 0"},
		{"one in the middle, long rowid", 4096, false, func(l *lab) {
			l.insert(100000, 100020, 100)
			l.do("DELETE FROM t WHERE id = 100010")
		}, "[0 0 0 1] 1"},
		{"one in the middle, longer than a short varint says", 4096, false, func(l *lab) {
			l.insert(1, 10, 300)
			l.do("DELETE FROM t WHERE id = 5")
		}, "[0 0 0 1] 1"},
		{"the last one written", 4096, false, func(l *lab) {
			// It stands first in the content area, which just shrinks.
			l.insert(1, 20, 100)
			l.do("DELETE FROM t WHERE id = 20")
		}, "[0 0 0 1] 0"},
		{"neighbours", 4096, false, func(l *lab) {
			// One freeblock: the later written row loses its start.
			l.insert(1, 20, 100)
			l.do("DELETE FROM t WHERE id IN (9, 10)")
		}, "[0 0 0 2] 2"},
		{"overwritten by another", 4096, false, func(l *lab) {
			l.insert(1, 20, 100)
			l.do("DELETE FROM t WHERE id = 10")
			l.insert(30, 30, 100)
		}, "[0 0 0 0] 0"},
		{"many overflow pages", 512, false, func(l *lab) {
			// The first page that is freed lists the others: its row is lost.
			l.insert(1, 3, 5000)
			l.do("DELETE FROM t")
		}, "[0 0 2 0] 0"},
		{"an overflow page taken again", 512, false, func(l *lab) {
			l.insert(1, 1, 5000)
			l.do("DELETE FROM t")
			l.insert(2, 2, 2000)
		}, "[0 0 0 0] 0"},
		{"updated in place", 4096, false, func(l *lab) {
			l.insert(1, 5, 100)
			l.do("UPDATE t SET b = 'x' WHERE id = 3")
		}, "[0 0 0 0] 0"},
		{"updated to be longer", 4096, false, func(l *lab) {
			l.insert(1, 5, 100)
			l.do("UPDATE t SET b = 'x and more' WHERE id = 3")
		}, "[0 0 0 1] 1"},
		{"moved, not deleted", 512, false, func(l *lab) {
			for id := 1; id <= 40; id += 2 {
				l.insert(id, id, 50)
			}
			for id := 2; id <= 40; id += 2 {
				l.insert(id, id, 50)
			}
		}, "[0 0 0 0] 0"},
		{"vacuumed", 4096, false, func(l *lab) {
			l.insert(1, 50, 100)
			l.do("DELETE FROM t WHERE id > 5")
			l.do("VACUUM")
		}, "[0 0 0 0] 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			secure := "OFF"
			if c.secure {
				secure = "ON"
			}
			l := newLab(t, fmt.Sprintf("PRAGMA page_size=%d", c.page), "PRAGMA secure_delete="+secure, rowsOfT)
			c.life(l)
			out := l.check(l.open(), true)
			if got := counts(out); got != c.want {
				t.Errorf("%s came out, not %s", got, c.want)
			}
		})
	}
}

// Rows that only frames of an older generation of the log hold.
func TestStaleFrames(t *testing.T) {
	l := newLab(t, "PRAGMA page_size=4096", "PRAGMA secure_delete=ON", rowsOfT, "PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0")
	l.insert(1, 3, 100)
	l.insert(4, 4, 9000) // with overflow pages
	l.do("DELETE FROM t WHERE id IN (2, 4)")
	l.insert(5, 5, 100)
	l.run("PRAGMA wal_checkpoint(RESTART)")
	l.do("UPDATE t SET a = 'new' WHERE id = 5") // overwrites the first frame only
	f := l.open()
	if f.StaleFrames() == 0 {
		t.Fatal("no older frames")
	}
	out := l.check(f, true)
	stale := map[int64]bool{}
	for _, g := range out {
		if g.evidence == WALStale {
			stale[g.rowID] = true
		}
	}
	if !stale[4] || !stale[2] || len(stale) != 2 {
		t.Errorf("rows %v", stale)
	}
}

// A row of the main file that the log deletes was live before its first
// transaction.
func TestBeforeTheLog(t *testing.T) {
	l := newLab(t, "PRAGMA page_size=1024", rowsOfT)
	l.insert(1, 100, 200)
	l.run("PRAGMA journal_mode=WAL")
	l.run("PRAGMA wal_autocheckpoint=0")
	l.note()
	l.do("DELETE FROM t WHERE id = 50")
	l.do("UPDATE t SET b = 'x' WHERE id = 51")
	l.do("DELETE FROM t") // its pages are freed without a frame
	out := l.check(l.open(), true)
	if len(out) != 101 {
		t.Errorf("%d versions, not 101", len(out))
	}
	spans := map[int64][][2]int{}
	for _, g := range out {
		spans[g.rowID] = append(spans[g.rowID], [2]int{g.first, g.last})
	}
	if got, want := fmt.Sprint(spans[50], spans[51], spans[52]), "[[0 0]] [[0 1] [2 2]] [[0 2]]"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

// An uncommitted transaction at the end of the log is no state.
func TestUncommitted(t *testing.T) {
	l := newLab(t, "PRAGMA page_size=512", "PRAGMA cache_size=5", rowsOfT, "PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0")
	l.insert(1, 20, 100)
	l.run("BEGIN")
	for id := 100; id < 300; id++ { // more than the cache holds: frames without a commit
		l.run("INSERT INTO t VALUES(?, ?, 0, 0, 'row of t')", id, words(id, 200))
	}
	l.run("DELETE FROM t WHERE id < 10")
	f := l.open()
	l.run("ROLLBACK")
	if out := l.check(f, true); len(out) != 0 {
		t.Errorf("%d versions", len(out))
	}
}

func TestStops(t *testing.T) {
	l := newLab(t, rowsOfT, "PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0")
	l.insert(1, 20, 100)
	l.do("DELETE FROM t")
	f := l.open()
	ctx, cancel := context.WithCancel(t.Context())
	stop := fmt.Errorf("enough")
	n := 0
	err := f.Recover(ctx, Options{Tables: []string{"t"}}, func(*Version) error { n++; return stop })
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("%v after %d", err, n)
	}
	cancel()
	if err := f.Recover(ctx, Options{Tables: []string{"t"}}, func(*Version) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestColumnsAdded(t *testing.T) {
	l := newLab(t, "PRAGMA page_size=1024", rowsOfT, "PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0")
	l.insert(1, 5, 100)
	l.do("ALTER TABLE t ADD COLUMN d INTEGER NOT NULL DEFAULT 7")
	l.do("ALTER TABLE t ADD COLUMN e TEXT DEFAULT 'x'")
	l.do("DELETE FROM t WHERE id = 2")
	f := l.open()
	if diff := differ(l.now(), rowsOf(t, f, f.Commits())); diff != "" {
		t.Fatal(diff)
	}
	out := recoverAll(t, f, "t")
	if len(out) != 1 || out[0].rowID != 2 || !strings.Contains(out[0].text, "d=i7\ne=tx") {
		t.Errorf("%v", out)
	}
}
