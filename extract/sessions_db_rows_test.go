package extract

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gander/extract/internal/sqlitero"
)

// pageScript makes a database of random shape: page size, schema changes, long
// and short rows, deletions, with or without a log.
func pageScript(t *testing.T, r *rand.Rand, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "w.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	run := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	run(fmt.Sprintf("PRAGMA page_size=%d", 512<<r.IntN(8)))
	wal := r.IntN(2) == 0
	if wal {
		run("PRAGMA journal_mode=WAL")
		run("PRAGMA wal_autocheckpoint=0")
	}
	key := []string{"id INTEGER PRIMARY KEY", "id INTEGER PRIMARY KEY AUTOINCREMENT", "id INT PRIMARY KEY", "id TEXT"}[r.IntN(4)]
	run("CREATE TABLE messages(" + key + ", session_id TEXT, content_json TEXT, cost REAL, n INTEGER, blob, g AS (n + 1), s TEXT AS (session_id || '!') STORED)")
	value := func() any {
		switch r.IntN(8) {
		case 0:
			return nil
		case 1:
			return r.Int64() >> r.IntN(64)
		case 2:
			return -r.Float64()
		case 3:
			return float64(r.IntN(1000))
		case 4:
			return []byte(strings.Repeat("\x00\xff", r.IntN(20)))
		case 5:
			return strings.Repeat("long ", r.IntN(1_500))
		}
		return strings.Repeat("ä", r.IntN(300))
	}
	added := ""
	for range 4 + r.IntN(6) {
		run("BEGIN")
		for range r.IntN(60) {
			run("INSERT INTO messages(session_id, content_json, cost, n, blob) VALUES(?, ?, ?, ?, ?)", value(), value(), value(), value(), value())
		}
		switch r.IntN(5) {
		case 0:
			run("DELETE FROM messages WHERE rowid % 7 = ?", r.IntN(7))
		case 1:
			run("UPDATE messages SET content_json = ? WHERE rowid % 11 = 3", value())
		case 2:
			added += "x"
			kind := []string{"", "TEXT", "REAL", "INTEGER", "NUMERIC", "BLOB", "BOOLEAN"}[r.IntN(7)]
			if n := r.IntN(len(plainDefaults) + len(oddDefaults)); n < len(plainDefaults) {
				run("ALTER TABLE messages ADD COLUMN " + added + " " + plainDefaults[n])
			} else {
				run("ALTER TABLE messages ADD COLUMN odd" + added + " " + kind + " " + oddDefaults[n-len(plainDefaults)])
			}
		case 3:
			run("INSERT INTO messages(rowid, session_id) SELECT max(rowid) + 1000, 'far' FROM messages")
		}
		run("COMMIT")
		if wal && r.IntN(4) == 0 {
			run("PRAGMA wal_checkpoint(FULL)")
		}
	}
	// A copy made while it is open has a log that is not checkpointed.
	out := filepath.Join(dir, "x.db")
	for _, suffix := range []string{"", "-wal"} {
		if b, err := os.ReadFile(path + suffix); err == nil {
			if err := os.WriteFile(out+suffix, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

// plainDefaults are those that need no SQLite, oddDefaults those that may: what
// only looks like a constant, and constants that some types convert.
var (
	plainDefaults = []string{
		"TEXT", "INTEGER NOT NULL DEFAULT 7", "REAL DEFAULT 1", "DEFAULT x'00ff'", "TEXT DEFAULT 'x''y'", "TEXT DEFAULT ''", "DEFAULT -0x10", "REAL DEFAULT +1.5", "BLOB DEFAULT (- -5)",
		"INTEGER DEFAULT 9223372036854775807", "INTEGER DEFAULT -9223372036854775808", "BOOLEAN DEFAULT TRUE", "BOOLEAN DEFAULT (-(5))", "TEXT DEFAULT word", "DEFAULT NULL", "TEXT DEFAULT ('p')",
	}
	oddDefaults = []string{
		"NOT NULL DEFAULT '7'", "DEFAULT 1", "DEFAULT 1.5", "DEFAULT 1e3", "DEFAULT 1e100", "DEFAULT -0.0", "DEFAULT 0x10", "DEFAULT -0x7fffffffffffffff",
		"DEFAULT 9223372036854775808", "DEFAULT 4294967296", "DEFAULT ' 3.0 '", "DEFAULT '1e2'", "DEFAULT ''", `DEFAULT "dq"`, "DEFAULT word", "DEFAULT TRUE", "DEFAULT (TRUE)", "DEFAULT (NULL)",
		"DEFAULT (-'5')", "DEFAULT -'5'", "DEFAULT (CAST('5' AS INTEGER))", "DEFAULT (CAST(5 AS TEXT))", "DEFAULT (x'61')", "DEFAULT (+(+'5'))", "DEFAULT (('q'))", "DEFAULT (+-+5)",
	}
)

// reading is what a reader makes of a table.
type reading struct {
	rows map[int64][]sqlitero.Value
	ids  []int64
	gaps []sqlitero.Gap
}

func (r *reading) row(id int64, v []sqlitero.Value) error {
	kept := slices.Clone(v)
	for i := range kept {
		kept[i].Bytes = slices.Clone(kept[i].Bytes)
	}
	r.rows[id] = kept
	r.ids = append(r.ids, id)
	return nil
}

func (r *reading) gap(g sqlitero.Gap) error {
	r.gaps = append(r.gaps, g)
	return nil
}

func sameValues(a, b []sqlitero.Value) bool {
	return slices.EqualFunc(a, b, func(a, b sqlitero.Value) bool {
		return a.Kind == b.Kind && a.Int == b.Int && a.Real == b.Real && bytes.Equal(a.Bytes, b.Bytes)
	})
}

func brief(v []sqlitero.Value) string {
	s := fmt.Sprint(v)
	return s[:min(len(s), 80)]
}

// What is read by page is what is read through SQLite; of a damaged table it
// is that or more.
func TestRowsByPage(t *testing.T) {
	n := uint64(240)
	if testing.Short() {
		n = 20
	}
	whole, partly := 0, 0
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 7))
		dir := t.TempDir()
		path := pageScript(t, r, dir)
		damaged := seed%2 == 1
		if damaged {
			spoil(t, r, path)
		}
		paths := sqlitero.Paths{Main: path}
		if _, err := os.Stat(path + "-wal"); err == nil {
			paths.WAL = path + "-wal"
		}
		db, err := sqlitero.Open(t.Context(), paths, dir)
		if err != nil {
			if !damaged {
				t.Fatal(err)
			}
			continue
		}
		compareReadings(t, seed, r, db, damaged, &whole, &partly)
		db.Close()
	}
	if whole < int(n/3) || partly < int(n/80) {
		t.Errorf("only %d tables were read by page as a whole and %d in part", whole, partly)
	}
}

// spoil overwrites a few bytes of a database or cuts it.
func spoil(t *testing.T, r *rand.Rand, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, _ := f.Seek(0, io.SeekEnd)
	if r.IntN(6) == 0 {
		if err := f.Truncate(size - r.Int64N(size/2+1)); err != nil {
			t.Fatal(err)
		}
		return
	}
	for range 4 + r.IntN(20) {
		b := make([]byte, 1+r.IntN(12))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		at := int64(100)
		if size > 200 {
			at += r.Int64N(size - 200)
		}
		if _, err := f.WriteAt(b, at); err != nil {
			t.Fatal(err)
		}
	}
}

func compareReadings(t *testing.T, seed uint64, r *rand.Rand, db *sqlitero.DB, damaged bool, whole, partly *int) {
	t.Helper()
	s := &sessionsReader{ctx: t.Context(), db: db}
	tables, err := db.Tables(t.Context())
	if err != nil {
		return
	}
	closePages, err := s.openPages()
	if err != nil {
		t.Fatal(err)
	}
	defer closePages()
	for i := range tables {
		if !tables[i].Readable() || tables[i].Name != "messages" {
			continue
		}
		table := newStoredTable("messages", &tables[i])
		columns := slices.Clone(table.columns)
		if r.IntN(2) == 0 {
			r.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
			columns = append(columns[:1+r.IntN(len(columns))], "no such column", "session_id")
		}
		byPage := s.reader(table, columns)
		defer byPage.Close()
		if byPage.pages == nil {
			if !damaged {
				t.Errorf("seed %d: not read by page", seed)
			}
			continue
		}
		through, err := byPage.through()
		if err != nil {
			t.Fatal(err)
		}
		byPage.sqlite = nil
		want, got := reading{rows: map[int64][]sqlitero.Value{}}, reading{rows: map[int64][]sqlitero.Value{}}
		if err := through.Scan(t.Context(), new(sqlitero.Told), want.row, want.gap); err != nil {
			t.Fatal(err)
		}
		through.Close()
		if err := byPage.Scan(t.Context(), got.row, got.gap); err != nil {
			t.Fatal(err)
		}
		if byPage.sqlite == nil {
			*whole++
		} else if *partly++; !damaged && !slices.ContainsFunc(columns, func(c string) bool { return strings.HasPrefix(c, "odd") }) {
			t.Errorf("seed %d: went through SQLite", seed)
		}
		if !damaged {
			if !slices.Equal(want.ids, got.ids) || len(got.gaps) > 0 {
				t.Errorf("seed %d: rows %v, want %v; gaps %v", seed, got.ids, want.ids, got.gaps)
			}
		}
		for id, v := range want.rows {
			if !sameValues(v, got.rows[id]) {
				t.Errorf("seed %d: row %d differs: %s, not %s", seed, id, brief(got.rows[id]), brief(v))
			}
		}
		compareFetch(t, seed, r, byPage, got, damaged)
	}
}

// compareFetch reads some of the rows again, and some that are not there. In a
// damaged table a row need not be where its rowid says: then it is bad.
func compareFetch(t *testing.T, seed uint64, r *rand.Rand, reader *rowReader, all reading, damaged bool) {
	t.Helper()
	for range 5 {
		var ids []int64
		each, from := 1+r.IntN(6), r.IntN(len(all.ids)+1)
		for _, id := range all.ids[from:] {
			if r.IntN(each) == 0 && (len(ids) == 0 || ids[len(ids)-1] < id) {
				ids = append(ids, id)
			}
		}
		if n := len(ids); n > 0 && r.IntN(2) == 0 && ids[n-1] < 1<<62 {
			ids = append(ids, ids[n-1]+5000)
		}
		got := reading{rows: map[int64][]sqlitero.Value{}}
		bad := map[int64]bool{}
		err := reader.Fetch(t.Context(), ids, got.row, func(id int64, _ error) error {
			bad[id] = true
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			_, there := all.rows[id]
			if bad[id] == there && !(damaged && bad[id]) && len(all.gaps) == 0 || there && !bad[id] && !sameValues(all.rows[id], got.rows[id]) {
				t.Errorf("seed %d: row %d fetched as %s, scanned as %s, bad %v", seed, id, brief(got.rows[id]), brief(all.rows[id]), bad[id])
			}
		}
	}
}
