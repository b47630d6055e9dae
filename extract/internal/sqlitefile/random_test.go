package sqlitefile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// newScript starts a random life. Everything that shapes the file is drawn.
func newScript(t testing.TB, seed uint64) *script {
	r := rand.New(rand.NewPCG(seed, 5))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	size := pick("512", "1024", "2048", "4096", "8192", "16384", "32768", "65536")
	s := &script{r: r, texts: 200 + r.IntN(12000)}
	s.lab = newLab(t,
		"PRAGMA page_size="+size,
		"PRAGMA encoding='"+pick("UTF-8", "UTF-8", "UTF-16le", "UTF-16be")+"'",
		"PRAGMA auto_vacuum="+pick("NONE", "FULL", "INCREMENTAL"),
		"PRAGMA secure_delete="+pick("OFF", "ON", "FAST"),
		"CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b, c REAL, m TEXT NOT NULL)",
		"CREATE TABLE u(k TEXT PRIMARY KEY, v, m TEXT NOT NULL)",
	)
	return s
}

// checkLog checks a log that no checkpoint has been in. One whose first
// transactions changed nothing looks as if one had been: then the first states
// are not told exactly.
func (s *script) checkLog() {
	f := s.open()
	s.check(f, len(f.copied) == 0)
}

// seeds is how many databases a random test makes; GANDER_SEEDS says another
// number.
func seeds(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("GANDER_SEEDS")); err == nil {
		return n
	}
	if testing.Short() {
		return 10
	}
	return 60
}

// The log is never checkpointed while it grows: all of its states, and the
// main file's before it, can be read exactly.
func TestRandomLogs(t *testing.T) {
	for seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newScript(t, uint64(seed))
			for range s.r.IntN(30) {
				s.step() // without a log
			}
			s.run("PRAGMA journal_mode=WAL")
			s.run("PRAGMA wal_autocheckpoint=0")
			for range 1 + s.r.IntN(3) {
				for range 1 + s.r.IntN(40) {
					s.step()
				}
				if s.r.IntN(2) == 0 {
					s.checkLog()
					s.run("PRAGMA wal_checkpoint(RESTART)")
					s.step() // starts the log over, older frames stay behind
				}
			}
			s.checkLog()
		})
	}
}

// A reader keeps checkpoints from finishing, so that the main file holds pages
// of transactions in the middle of the log.
func TestRandomCheckpoints(t *testing.T) {
	for seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newScript(t, uint64(seed)+1e6)
			s.run("PRAGMA journal_mode=WAL")
			s.run("PRAGMA wal_autocheckpoint=0")
			for range s.r.IntN(20) {
				s.step()
			}
			for range 1 + s.r.IntN(4) {
				reader, err := s.db.Conn(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				s.reader = reader
				for _, q := range []string{"BEGIN", "SELECT count(*) FROM t"} {
					if _, err := reader.ExecContext(context.Background(), q); err != nil {
						t.Fatal(err)
					}
				}
				for range s.r.IntN(12) {
					s.step()
				}
				s.run("PRAGMA wal_checkpoint(PASSIVE)")
				for range s.r.IntN(12) {
					s.step()
				}
				s.check(s.open(), false)
				if _, err := reader.ExecContext(context.Background(), "COMMIT"); err != nil {
					t.Fatal(err)
				}
				reader.Close()
				s.reader = nil
			}
			s.run("PRAGMA wal_checkpoint(PASSIVE)")
			s.check(s.open(), false)
		})
	}
}
