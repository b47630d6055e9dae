package sqlitefile

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// BenchmarkRecover goes through a log as Goose writes it: a message, and the
// session's row again, in transactions of their own; now and then a session is
// deleted. WAL_COMMITS sets how many.
func BenchmarkRecover(b *testing.B) {
	commits, _ := strconv.Atoi(os.Getenv("WAL_COMMITS"))
	if commits == 0 {
		commits = 2000
	}
	l := newLab(b,
		"CREATE TABLE sessions(id TEXT PRIMARY KEY, name TEXT, n INTEGER, m TEXT NOT NULL)",
		"CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, content TEXT, m TEXT NOT NULL)",
		"CREATE INDEX i ON messages(session)",
		"PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0", "PRAGMA synchronous=OFF")
	for i := range commits / 2 {
		session := i / 200
		id := strconv.Itoa(session)
		if i%200 == 0 {
			l.run("INSERT INTO sessions VALUES(?, ?, 0, 'row of sessions')", id, words(session, 600))
		}
		l.run("INSERT INTO messages(session, content, m) VALUES(?, ?, 'row of messages')", id, words(i, []int{300, 900, 3000, 20000}[i%4]))
		l.run("UPDATE sessions SET n = ? WHERE id = ?", i, id)
		if i%1000 == 999 {
			l.run("BEGIN")
			l.run("DELETE FROM messages WHERE session = ?", id)
			l.run("DELETE FROM sessions WHERE id = ?", id)
			l.run("COMMIT")
		}
	}
	st, err := os.Stat(l.path + "-wal")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(st.Size())
	b.ResetTimer()
	var n int
	for b.Loop() {
		f, err := Open(context.Background(), l.path, l.path+"-wal")
		if err != nil {
			b.Fatal(err)
		}
		n = 0
		err = f.Recover(context.Background(), Options{Tables: []string{"sessions", "messages"}, Fits: marked}, func(*Version) error { n++; return nil })
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(f.Frames()), "frames")
		f.Close()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(n), "versions")
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB")
}

// BenchmarkCarve searches a database of which most is free pages.
func BenchmarkCarve(b *testing.B) {
	l := newLab(b, "PRAGMA secure_delete=OFF", rowsOfT)
	l.run("BEGIN")
	for id := 1; id <= 5000; id++ {
		l.run("INSERT INTO t VALUES(?, ?, 0, 0, 'row of t')", id, words(id, []int{300, 900, 3000, 20000}[id%4]))
	}
	l.run("COMMIT")
	l.run("DELETE FROM t WHERE id > 10")
	st, err := os.Stat(l.path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(st.Size())
	var n int
	for b.Loop() {
		f, err := Open(context.Background(), l.path, "")
		if err != nil {
			b.Fatal(err)
		}
		n = 0
		err = f.Recover(context.Background(), Options{Tables: []string{"t"}, Fits: marked}, func(*Version) error { n++; return nil })
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
	b.ReportMetric(float64(n), "versions")
}
