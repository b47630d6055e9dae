package sqlitero

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("SQLITERO_READ_AS_NOBODY"); path != "" {
		readAsNobody(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// shell runs a script of the sqlite3 command in a directory of its own; the
// script copies what it wants to keep to ev/, the evidence.
func shell(t *testing.T, script string) (evidence string) {
	t.Helper()
	bin, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("no sqlite3 command")
	}
	dir := t.TempDir()
	evidence = filepath.Join(dir, "ev")
	if err := os.Mkdir(evidence, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-batch", "w.db")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "rror") {
		t.Fatalf("sqlite3: %v\n%s", err, out)
	}
	return evidence
}

// query asks the sqlite3 command.
func query(t *testing.T, uri, sql string) string {
	t.Helper()
	out, err := exec.Command("sqlite3", "-batch", uri, sql).CombinedOutput()
	if err != nil {
		t.Fatalf("sqlite3 %s: %v\n%s", sql, err, out)
	}
	return strings.TrimSpace(string(out))
}

// held is what a directory holds, so that two states of it can be compared.
func held(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		st, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %d %x %s\n", e.Name(), st.ModTime().UnixNano(), sha256.Sum256(data), st.Mode())
	}
	return b.String()
}

// pathsOf names the files of ev/x.db that are there.
func pathsOf(dir string) Paths {
	p := Paths{Main: filepath.Join(dir, "x.db"), Evidence: true}
	for suffix, to := range map[string]*string{"-wal": &p.WAL, "-journal": &p.Journal} {
		if _, err := os.Stat(p.Main + suffix); err == nil {
			*to = p.Main + suffix
		}
	}
	return p
}

// open opens ev/x.db and checks, when the test ends, that evidence is as it was
// and scratch is empty.
func open(t *testing.T, p Paths) (*DB, error) {
	t.Helper()
	dir, scratch := filepath.Dir(p.Main), t.TempDir()
	before := held(t, dir)
	db, err := Open(t.Context(), p, scratch)
	t.Cleanup(func() {
		if err == nil {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(before, held(t, dir)); diff != "" && !p.Live {
			t.Errorf("evidence was changed:\n%s", diff)
		}
		if left := held(t, scratch); left != "" {
			t.Errorf("left in scratch:\n%s", left)
		}
	})
	return db, err
}

func mustOpen(t *testing.T, p Paths) *DB {
	t.Helper()
	db, err := open(t, p)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func count(t *testing.T, db *DB, what string) int64 {
	t.Helper()
	var n int64
	if err := db.QueryRow(context.Background(), "SELECT "+what, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// patch writes over bytes of a file.
func patch(t *testing.T, path string, at int64, b ...byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

const keep = ".shell cp w.db ev/x.db\n.shell cp w.db-wal ev/x.db-wal\n"

// walScript leaves ten rows of which only the log knows.
const walScript = `PRAGMA journal_mode=WAL;
PRAGMA wal_autocheckpoint=0;
CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
INSERT INTO t VALUES(1,'a'),(2,'b'),(3,'c'),(4,'d'),(5,'e');
INSERT INTO t VALUES(6,'f'),(7,'g'),(8,'h'),(9,'i'),(10,'j');
` + keep
