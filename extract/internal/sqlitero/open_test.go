package sqlitero

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func sum(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func TestOpenInPlace(t *testing.T) {
	ev := shell(t, "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES(1,'a'),(2,'b');\n.shell cp w.db ev/x.db\n")
	db := mustOpen(t, pathsOf(ev))
	if n := count(t, db, "count(*) FROM t"); n != 2 || !db.InPlace || db.Changed() {
		t.Errorf("rows %d, in place %v, changed %v", n, db.InPlace, db.Changed())
	}
	if got, err := db.Hash(t.Context()); err != nil || got != sum(t, filepath.Join(ev, "x.db")) {
		t.Errorf("hash %s, %v", got, err)
	}
	if err := db.exec(t.Context(), "DELETE FROM t"); err == nil {
		t.Error("the connection writes")
	}
}

func TestOpenOddPath(t *testing.T) {
	ev := shell(t, "CREATE TABLE t(v); INSERT INTO t VALUES(1);\n.shell cp w.db ev/x.db\n")
	odd := filepath.Join(ev, "a%20b?mode=rwc#c d'e", "ü;&.db")
	if err := os.Mkdir(filepath.Dir(odd), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(ev, "x.db"), odd); err != nil {
		t.Fatal(err)
	}
	db := mustOpen(t, Paths{Main: odd, Evidence: true})
	if n := count(t, db, "count(*) FROM t"); n != 1 {
		t.Errorf("rows %d", n)
	}
}

// A log of which a header-only database knows nothing yet is how Goose leaves
// a home.
func TestOpenWAL(t *testing.T) {
	for _, evidence := range []bool{true, false} {
		ev := shell(t, walScript)
		p := pathsOf(ev)
		p.Evidence = evidence
		if n := query(t, "file:"+p.Main+"?immutable=1", "SELECT count(*) FROM sqlite_master"); n != "0" {
			t.Fatalf("the main file has %s tables", n)
		}
		db := mustOpen(t, p)
		if n := count(t, db, "count(*) FROM t"); n != 10 {
			t.Errorf("rows %d", n)
		}
		if db.InPlace || db.WALForeign != "" || db.WALDamaged != "" || db.WALWithoutDatabase || db.ChangedWhileReading {
			t.Errorf("%+v", db.Facts)
		}
		if got, err := db.Hash(t.Context()); err != nil || got != sum(t, p.Main) {
			t.Errorf("hash %s, %v", got, err)
		}
	}
}

// Companions of the caller's own may have any name.
func TestOpenOtherNames(t *testing.T) {
	ev := shell(t, walScript)
	p := pathsOf(ev)
	other := filepath.Join(ev, "blob17")
	if err := os.Rename(p.WAL, other); err != nil {
		t.Fatal(err)
	}
	p.WAL, p.Evidence = other, false
	if n := count(t, mustOpen(t, p), "count(*) FROM t"); n != 10 {
		t.Errorf("rows %d", n)
	}
}

func TestOpenEmptyCompanions(t *testing.T) {
	ev := shell(t, "CREATE TABLE t(v); INSERT INTO t VALUES(1);\n.shell cp w.db ev/x.db\n.shell touch ev/x.db-wal ev/x.db-journal\n")
	db := mustOpen(t, pathsOf(ev))
	if n := count(t, db, "count(*) FROM t"); n != 1 || !db.InPlace {
		t.Errorf("rows %d, in place %v", n, db.InPlace)
	}
}

// A writer that was killed after its changes reached the file: the journal
// undoes them.
func TestOpenHotJournal(t *testing.T) {
	ev := shell(t, `PRAGMA journal_mode=DELETE;
CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<400) INSERT INTO t SELECT i, hex(zeroblob(400)) FROM c;
PRAGMA cache_size=5;
BEGIN;
UPDATE t SET v='gone';
INSERT INTO t SELECT id+1000, hex(zeroblob(400)) FROM t;
.shell cp w.db ev/x.db
.shell cp w.db-journal ev/x.db-journal
`)
	p := pathsOf(ev)
	if n := query(t, "file:"+p.Main+"?immutable=1", "SELECT count(*) FROM t WHERE v='gone'"); n == "0" {
		t.Fatal("nothing uncommitted reached the file")
	}
	for _, evidence := range []bool{true, false} {
		p.Evidence = evidence
		db := mustOpen(t, p)
		if n, gone := count(t, db, "count(*) FROM t"), count(t, db, "count(*) FROM t WHERE v='gone'"); n != 400 || gone != 0 {
			t.Errorf("rows %d, of them uncommitted %d", n, gone)
		}
		if got, err := db.Hash(t.Context()); err != nil || got != sum(t, p.Main) {
			t.Errorf("hash is not the main file's: %s, %v", got, err)
		}
	}
}

func TestOpenForeignWAL(t *testing.T) {
	main := "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);\nINSERT INTO t VALUES(1,'main');\n" // counter 2
	other := func(pragma string, commits int) string {
		return "ATTACH 'o.db' AS o; PRAGMA o.page_size=" + pragma + "; PRAGMA o.journal_mode=WAL; PRAGMA o.wal_autocheckpoint=0;\n" +
			"CREATE TABLE o.x(v);\n" + strings.Repeat("CREATE TABLE o.y(v); DROP TABLE o.y;\n", commits) +
			".shell cp w.db ev/x.db\n.shell cp o.db-wal ev/x.db-wal\n"
	}
	t.Run("page size", func(t *testing.T) {
		db := mustOpen(t, pathsOf(shell(t, main+other("1024", 0))))
		if db.WALForeign != "page size differs" || !db.InPlace || count(t, db, "count(*) FROM t") != 1 {
			t.Errorf("%+v", db.Facts)
		}
	})
	t.Run("counter", func(t *testing.T) {
		ev := shell(t, main+other("4096", 1))
		p := pathsOf(ev)
		w, err := ScanWAL(t.Context(), p.WAL)
		if err != nil || w.Page1 == nil {
			t.Fatal(w, err)
		}
		of := changeCounter(w.Page1)
		set := func(n uint32) { patch(t, p.Main, 24, byte(n>>24), byte(n>>16), byte(n>>8), byte(n)) }
		for n, foreign := range map[uint32]bool{of - 1: false, of: false, of + 1: true} {
			set(n)
			t.Run(fmt.Sprint(int64(n)-int64(of)), func(t *testing.T) {
				db := mustOpen(t, p)
				if (db.WALForeign != "") != foreign || db.InPlace != foreign {
					t.Errorf("counter %d, log %d: %+v", n, of, db.Facts)
				}
				if foreign && count(t, db, "count(*) FROM t") != 1 {
					t.Error("the main file is not read alone")
				}
			})
		}
		// Beside a journal the main file must be copied, without the log.
		set(of + 1)
		if err := os.WriteFile(p.Main+"-journal", make([]byte, 512), 0o644); err != nil {
			t.Fatal(err)
		}
		db := mustOpen(t, pathsOf(ev))
		if db.WALForeign == "" || db.InPlace || count(t, db, "count(*) FROM t") != 1 {
			t.Errorf("with journal: %+v", db.Facts)
		}
	})
}

func TestOpenDamagedWAL(t *testing.T) {
	ev := shell(t, walScript)
	p := pathsOf(ev)
	w, err := ScanWAL(t.Context(), p.WAL)
	if err != nil {
		t.Fatal(err)
	}
	patch(t, p.WAL, fileSize(t, p.WAL)-1, 0xff) // in the second insert
	db := mustOpen(t, p)
	if n := count(t, db, "count(*) FROM t"); n != 5 || db.WALDamaged == "" {
		t.Errorf("rows %d, %+v", n, db.Facts)
	}
	if db.WAL.Committed != w.Committed-1 {
		t.Errorf("committed %d of %d", db.WAL.Committed, w.Committed)
	}
}

func TestOpenUnreadableWAL(t *testing.T) {
	ev := shell(t, walScript)
	p := pathsOf(ev)
	if err := os.Remove(p.WAL); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(p.WAL, "x"), 0o755); err != nil { // bytes, but not to be read
		t.Fatal(err)
	}
	db, err := Open(t.Context(), p, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if db.WALDamaged == "" || db.WAL != nil || count(t, db, "count(*) FROM sqlite_schema") != 0 {
		t.Errorf("%+v", db.Facts)
	}
}

func TestOpenWALWithoutDatabase(t *testing.T) {
	ev := shell(t, walScript+".shell : > ev/x.db\n")
	p := pathsOf(ev)
	db := mustOpen(t, p)
	if !db.WALWithoutDatabase || count(t, db, "count(*) FROM t") != 10 || db.Size != 0 {
		t.Errorf("%+v", db.Facts)
	}
	db.Close()

	// A log that begins after a checkpoint does not hold page 1.
	ev = shell(t, strings.Replace(walScript, keep, `PRAGMA wal_checkpoint(RESTART);
UPDATE t SET v='x' WHERE id=3;
`+keep, 1)+".shell : > ev/x.db\n")
	p = pathsOf(ev)
	w, err := ScanWAL(t.Context(), p.WAL)
	if err != nil {
		t.Fatal(err)
	}
	if w.Page1 != nil {
		t.Skip("this SQLite writes page 1 with every commit")
	}
	if _, err := open(t, p); !errors.Is(err, ErrOnlyWAL) {
		t.Errorf("error %v", err)
	}
}

func TestOpenNoDatabase(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		bytes string
		want  error
	}{
		"empty":       {"", ErrEmpty},
		"text":        {strings.Repeat("not a database\n", 300), ErrNotSQLite},
		"magic alone": {magic, ErrNotSQLite},
		"99 bytes":    {magic + strings.Repeat("\x00", 83), ErrNotSQLite},
		"no header":   {magic + strings.Repeat("\x00", 4080), ErrNotSQLite},
		"encrypted":   {strings.Repeat("\x8a\x11\xf0\x03", 1024), ErrNotSQLite},
	} {
		p := Paths{Main: filepath.Join(dir, "x.db"), Evidence: true}
		if err := os.WriteFile(p.Main, []byte(c.bytes), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			if _, err := open(t, p); !errors.Is(err, c.want) {
				t.Error(err)
			}
		})
	}
	if _, err := Open(t.Context(), Paths{Main: filepath.Join(dir, "none"), Evidence: true}, t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestOpenScratchFails(t *testing.T) {
	ev := shell(t, walScript)
	var scratch *ScratchError
	if _, err := Open(t.Context(), pathsOf(ev), filepath.Join(ev, "x.db", "none")); !errors.As(err, &scratch) {
		t.Errorf("error %v", err)
	}
}

func TestOpenCancelled(t *testing.T) {
	ev := shell(t, walScript)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, pathsOf(ev), t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// busy is a context during which something happens whenever it is asked.
type busy struct {
	context.Context
	happen func()
}

func (b busy) Err() error {
	b.happen()
	return b.Context.Err()
}

func TestChangedWhileReading(t *testing.T) {
	ev := shell(t, walScript)
	p := pathsOf(ev)
	at := time.Now()
	for _, c := range []struct {
		path    string
		times   int // that the file changes
		changed bool
	}{{p.Main, 1, false}, {p.WAL, 1, false}, {p.Main, 1e9, true}, {p.WAL, 1e9, true}} {
		ctx := busy{t.Context(), func() {
			if c.times--; c.times >= 0 {
				at = at.Add(time.Second)
				if err := os.Chtimes(c.path, at, at); err != nil {
					t.Error(err)
				}
			}
		}}
		db, err := Open(ctx, p, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if db.ChangedWhileReading != c.changed || (db.SHA256 == "") != c.changed || count(t, db, "count(*) FROM t") != 10 {
			t.Errorf("%s: %+v", c.path, db.Facts)
		}
		db.Close()
	}
	ev = shell(t, "CREATE TABLE t(v);\n.shell cp w.db ev/x.db\n")
	db, err := Open(t.Context(), pathsOf(ev), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if db.Changed() {
		t.Error("changed before it was")
	}
	now := time.Now()
	if err := os.Chtimes(filepath.Join(ev, "x.db"), now, now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if !db.Changed() {
		t.Error("a new mtime went unnoticed")
	}
}

// A live database is read in one transaction beside a writer that commits, and
// without stopping it.
func TestOpenLive(t *testing.T) {
	ev := shell(t, strings.Replace(walScript, ".shell cp w.db-wal ev/x.db-wal\n", "", 1)+"PRAGMA wal_checkpoint(TRUNCATE);\n.shell cp w.db ev/x.db\n")
	path := filepath.Join(ev, "x.db")
	writer := func(sql string) { query(t, path, "PRAGMA busy_timeout=10000; "+sql) }
	writer("INSERT INTO t(v) VALUES('k')")
	hold := exec.Command("sqlite3", path) // keeps the log from being checkpointed away
	in, err := hold.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := hold.Start(); err != nil {
		t.Fatal(err)
	}
	defer hold.Wait()
	defer in.Close()
	fmt.Fprintln(in, "PRAGMA wal_autocheckpoint=0; INSERT INTO t(v) VALUES('l');")
	deadline := time.Now().Add(10 * time.Second)
	for query(t, path, "SELECT count(*) FROM t") != "12" {
		if time.Now().After(deadline) {
			t.Fatal("the writer does not write")
		}
	}
	db, err := Open(t.Context(), Paths{Main: path, WAL: path + "-wal", Live: true}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 5 {
			writer("INSERT INTO t(v) VALUES('m')")
		}
	})
	for range 50 {
		if n := count(t, db, "count(*) FROM t"); n != 12 {
			t.Errorf("rows %d in one transaction", n)
		}
	}
	wg.Wait()
	if n := count(t, db, "count(*) FROM t"); n != 12 {
		t.Errorf("rows %d in one transaction", n)
	}
	if err := db.exec(t.Context(), "DELETE FROM t"); err == nil {
		t.Error("a live database is written to")
	}
	if n := query(t, path, "SELECT count(*) FROM t"); n != "17" {
		t.Errorf("the writer got %s rows in", n)
	}
}

// readAsNobody is what TestOpenReadOnlyDirectory runs in a process without rights.
func readAsNobody(base string) {
	for _, c := range []struct{ dir, table string }{{base + "/ev", "t"}, {base + "/ev/plain", "sqlite_schema"}} {
		if f, err := os.Create(filepath.Join(c.dir, "probe")); err == nil {
			f.Close()
			fmt.Print("the directory is writable")
		}
		db, err := Open(context.Background(), pathsOf(c.dir), base+"/scratch")
		if err != nil {
			fmt.Print(err)
			os.Exit(1)
		}
		var n int64
		if err := db.QueryRow(context.Background(), "SELECT count(*) FROM "+c.table, &n); err != nil {
			fmt.Print(err)
			os.Exit(1)
		}
		fmt.Print(n, " ")
		db.Close()
	}
}
