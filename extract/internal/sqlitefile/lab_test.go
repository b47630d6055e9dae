package sqlitefile

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"gander/extract/internal/sqlitero"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lab is a database under SQLite's hands of which every state is known.
type lab struct {
	t    testing.TB
	path string
	db   *sql.DB
	conn *sql.Conn

	tables []string
	salts  [8]byte
	frames int64
	// states are those of the log's transactions, from the state before the
	// first; a state is rowVersion -> rowid.
	states []map[rowVersion]int64
	// ever is every version that was live at any time, to any connection.
	ever map[rowVersion]bool
	// reordered are the tables that had their columns in another order: what
	// no b-tree leads to is read in the last one.
	reordered map[string]bool
}

// rowVersion is a row by its values. rowID is 0 where it is no column.
type rowVersion struct {
	table string
	rowID int64
	text  string
}

func (v rowVersion) String() string { return fmt.Sprintf("%s %d %.150q", v.table, v.rowID, v.text) }

func newLab(t testing.TB, settings ...string) *lab {
	t.Helper()
	l := &lab{t: t, path: filepath.Join(t.TempDir(), "w.db"), ever: map[rowVersion]bool{}, reordered: map[string]bool{}}
	db, err := sql.Open("sqlite", "file:"+l.path)
	if err != nil {
		t.Fatal(err)
	}
	l.db = db
	if l.conn, err = db.Conn(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.conn.Close(); db.Close() })
	for _, s := range settings {
		l.run(s)
	}
	l.states = []map[rowVersion]int64{l.now()}
	return l
}

// run executes SQL without looking at the outcome.
func (l *lab) run(query string, args ...any) {
	l.t.Helper()
	if _, err := l.conn.ExecContext(context.Background(), query, args...); err != nil {
		l.t.Fatalf("%.200s: %v", query, err)
	}
}

// do executes one transaction and notes the state that it leaves.
func (l *lab) do(query string, args ...any) {
	l.t.Helper()
	l.run(query, args...)
	l.note()
}

func (l *lab) note() {
	l.t.Helper()
	w, err := sqlitero.ScanWAL(context.Background(), l.path+"-wal")
	if err != nil {
		w = &sqlitero.WAL{}
	}
	now := l.now()
	switch {
	case w.Salts != l.salts && w.Committed > 0: // the log started over
		l.states = []map[rowVersion]int64{l.states[len(l.states)-1], now}
	case w.Committed > l.frames:
		l.states = append(l.states, now)
	case w.Committed == 0: // no log
		l.states = []map[rowVersion]int64{now}
	}
	l.salts, l.frames = w.Salts, w.Committed
}

// each calls scan for every row of a query.
func (l *lab) each(query string, scan func(*sql.Rows) error) {
	l.t.Helper()
	rows, err := l.conn.QueryContext(context.Background(), query)
	if err != nil {
		l.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		l.t.Fatal(err)
	}
}

// now reads all rows through SQLite.
func (l *lab) now() map[rowVersion]int64 {
	l.t.Helper()
	state := map[rowVersion]int64{}
	l.tables = nil
	alias := map[string]bool{}
	l.each("SELECT name, sql LIKE '%INTEGER PRIMARY KEY%' FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%' ORDER BY name", func(rows *sql.Rows) error {
		var name string
		var is bool
		err := rows.Scan(&name, &is)
		alias[name] = is
		l.tables = append(l.tables, name)
		return err
	})
	for _, table := range l.tables {
		l.each("SELECT rowid AS rowid_, * FROM "+table, func(rows *sql.Rows) error {
			names, err := rows.Columns()
			if err != nil {
				return err
			}
			v := make([]any, len(names))
			into := make([]any, len(names))
			for i := range v {
				into[i] = &v[i]
			}
			if err := rows.Scan(into...); err != nil {
				return err
			}
			key := rowVersion{table: table, text: textOfRow(names[1:], v[1:])}
			if alias[table] {
				key.rowID = v[0].(int64)
			}
			state[key] = v[0].(int64)
			l.ever[key] = true
			return nil
		})
	}
	return state
}

// textOfRow writes a row in a form that is equal for equal versions.
func textOfRow(names []string, v []any) string {
	var parts []string
	for i, name := range names {
		switch x := v[i].(type) {
		case nil:
		case int64:
			parts = append(parts, name+"=i"+strconv.FormatInt(x, 10))
		case float64:
			parts = append(parts, name+"=f"+strconv.FormatFloat(x, 'x', -1, 64))
		case string:
			parts = append(parts, name+"=t"+x)
		case []byte:
			parts = append(parts, name+"=b"+hex.EncodeToString(x))
		default:
			panic(fmt.Sprintf("%T", x))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}

func textOfValues(columns []Column, values []Value) string {
	names, v := make([]string, len(columns)), make([]any, len(columns))
	for i := range columns {
		names[i] = columns[i].Name
		switch x := values[i]; x.Kind {
		case Int:
			v[i] = x.Int
		case Real:
			v[i] = x.Real
		case Text:
			v[i] = string(x.Bytes)
		case Blob:
			v[i] = x.Bytes
		}
	}
	return textOfRow(names, v)
}

// open opens a copy of the files as they are now.
func (l *lab) open() *File {
	l.t.Helper()
	dir := l.t.TempDir()
	main, log := filepath.Join(dir, "c.db"), ""
	copyTo(l.t, main, l.path)
	if _, err := os.Stat(l.path + "-wal"); err == nil {
		log = filepath.Join(dir, "c.db-wal")
		copyTo(l.t, log, l.path+"-wal")
	}
	f, err := Open(context.Background(), main, log)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { f.Close() })
	return f
}

func copyTo(t testing.TB, to, from string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
}

// rowsOf reads a state with the package's own reader.
func rowsOf(t testing.TB, f *File, no int) map[rowVersion]int64 {
	t.Helper()
	state := map[rowVersion]int64{}
	s := f.State(no)
	for i := range s.Tables() {
		table := &s.Tables()[i]
		if strings.HasPrefix(table.Name, "sqlite_") {
			continue
		}
		err := s.Walk(context.Background(), table, func(r *Row) bool {
			key := rowVersion{table: table.Name, text: textOfValues(table.Columns, r.Values)}
			if table.alias() >= 0 {
				key.rowID = r.RowID
			}
			state[key] = r.RowID
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		for key, id := range state {
			if key.table != table.Name {
				continue
			}
			row, ok := f.State(no).Row(table, id)
			if !ok || row.RowID != id {
				t.Fatalf("row %d of %s is not found by its rowid", id, table.Name)
			}
		}
	}
	return state
}

// got is a version that came out.
type got struct {
	rowVersion
	evidence    Evidence
	first, last int
	headless    bool
}

func recoverAll(t testing.TB, f *File, tables ...string) []got {
	t.Helper()
	var out []got
	err := f.Recover(context.Background(), Options{Tables: tables, Fits: marked}, func(v *Version) error {
		g := got{rowVersion{table: v.Table, text: textOfValues(v.Columns, v.Values)}, v.Evidence, v.First, v.Last, !v.HasRowID}
		if (&Table{Columns: v.Columns}).alias() >= 0 && v.HasRowID {
			g.rowID = v.RowID
		}
		out = append(out, g)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// marked recognises the rows of the tests by their column m.
func marked(table string, columns []Column, values []Value) bool {
	for _, v := range values {
		if v.Kind == Text && strings.Trim(string(v.Bytes), letters+"0123456789.-+X") != "" {
			return false
		}
	}
	i := (&Table{Columns: columns}).Index("m")
	return i >= 0 && string(values[i].Bytes) == "row of "+table
}

// expected is what must come out as WALCommitted.
func (l *lab) expected() map[rowVersion][2]int {
	out := map[rowVersion][2]int{}
	for no, state := range l.states {
		for v := range state {
			if span, ok := out[v]; ok {
				out[v] = [2]int{span[0], no}
			} else {
				out[v] = [2]int{no, no}
			}
		}
	}
	for v := range l.states[len(l.states)-1] {
		delete(out, v)
	}
	return out
}

// check compares what comes out with what was: all of the log's versions where
// exact, and never one that was not, or that still is.
func (l *lab) check(f *File, exact bool) (out []got) {
	l.t.Helper()
	now := l.states[len(l.states)-1]
	if diff := differ(now, rowsOf(l.t, f, f.Commits())); diff != "" {
		l.t.Fatalf("the current state is not SQLite's: %s", diff)
	}
	if exact {
		if f.Commits() != len(l.states)-1 {
			l.t.Fatalf("%d commits, not %d", f.Commits(), len(l.states)-1)
		}
		for no, want := range l.states {
			if diff := differ(want, rowsOf(l.t, f, no)); diff != "" {
				l.t.Fatalf("state %d is not what it was: %s", no, diff)
			}
		}
	}
	want := l.expected()
	out = recoverAll(l.t, f, l.tables...)
	seen := map[rowVersion]bool{}
	bodies := map[rowVersion]bool{}
	for v := range l.ever {
		bodies[withoutID(v)] = true
	}
	for _, g := range out {
		if g.headless {
			if !bodies[g.rowVersion] && !l.reordered[g.table] {
				l.t.Errorf("never was: %v %s", g.evidence, g.rowVersion)
			}
			continue
		}
		if seen[g.rowVersion] {
			l.t.Errorf("twice: %s", g.rowVersion)
		}
		seen[g.rowVersion] = true
		if _, ok := now[g.rowVersion]; ok {
			l.t.Errorf("still there: %v %s", g.evidence, g.rowVersion)
		}
		if l.reordered[g.table] && f.copiedPage1() {
			continue // the schema before is not known
		}
		if g.evidence >= FreePage && l.mixture(f, g.rowVersion) {
			continue
		}
		if !l.ever[g.rowVersion] && (g.evidence == WALCommitted || !l.reordered[g.table]) {
			l.t.Errorf("never was: %v %s", g.evidence, g.rowVersion)
		}
		span, ok := want[g.rowVersion]
		switch {
		case g.evidence != WALCommitted:
			if exact && ok {
				l.t.Errorf("weaker evidence than there is: %v %s", g.evidence, g.rowVersion)
			}
		case !ok:
			l.t.Errorf("not in the log: %s", g.rowVersion)
		case exact && span != [2]int{g.first, g.last}:
			l.t.Errorf("commits %d to %d, not %v: %s", g.first, g.last, span, g.rowVersion)
		case g.first < span[0] || g.last > span[1]:
			l.t.Errorf("commits %d to %d outside %v: %s", g.first, g.last, span, g.rowVersion)
		}
	}
	if exact {
		for v, span := range want {
			if !seen[v] {
				l.t.Errorf("missing: %v %s", span, v)
			}
		}
	}
	return out
}

// mixture reports that a version is one that was, but for a page of its chain
// that another row, whose start is lost, had meanwhile. Nothing in a database
// tells that.
func (l *lab) mixture(f *File, v rowVersion) bool {
	for was := range l.ever {
		if was.table == v.table && was.rowID == v.rowID && len(v.text) > f.pageSize/2 && strings.HasPrefix(was.text, v.text[:20]) {
			return true
		}
	}
	return false
}

func (f *File) copiedPage1() bool { _, ok := f.copied[1]; return ok }

// withoutID drops the id, as a record without its start has it.
func withoutID(v rowVersion) rowVersion {
	var parts []string
	for _, p := range strings.Split(v.text, "\n") {
		if !strings.HasPrefix(p, "id=") {
			parts = append(parts, p)
		}
	}
	return rowVersion{table: v.table, text: strings.Join(parts, "\n")}
}

func differ(want, have map[rowVersion]int64) string {
	for v, id := range want {
		if got, ok := have[v]; !ok || got != id {
			return fmt.Sprintf("missing %s (row %d, have %d)", v, id, got)
		}
	}
	for v := range have {
		if _, ok := want[v]; !ok {
			return fmt.Sprintf("too much: %s", v)
		}
	}
	return ""
}

// script is a random life of a database.
type script struct {
	*lab
	r      *rand.Rand
	texts  int // longest text
	reader *sql.Conn
	added  int
}

// letters are those of every text in the tests.
const letters = "abcdefghijklmnopqrstuvwxyz äß€😀"

func (s *script) word(n int) string {
	runes := []rune(letters)
	var b strings.Builder
	for b.Len() < n {
		b.WriteRune(runes[s.r.IntN(len(runes))])
	}
	return b.String()
}

func (s *script) value() any {
	switch s.r.IntN(8) {
	case 0:
		return nil
	case 1:
		return s.r.Int64() >> s.r.IntN(63)
	case 2:
		return float64(s.r.IntN(1000)) / 4
	case 3:
		return []byte(s.word(s.r.IntN(20)))
	case 4:
		return s.word(s.r.IntN(s.texts))
	}
	return s.word(1 + s.r.IntN(60))
}

// step is one transaction.
func (s *script) step() {
	tx := s.r.IntN(3) > 0
	n := 1
	if tx {
		n = 1 + s.r.IntN(6)
		s.run("BEGIN")
	}
	for range n {
		id := int64(s.r.IntN(60))
		switch s.r.IntN(10) {
		case 0, 1, 2, 3:
			s.run("INSERT OR REPLACE INTO t(id, a, b, c, m) VALUES(?, ?, ?, ?, 'row of t')", id, s.value(), s.value(), float64(s.r.IntN(50)))
		case 4:
			s.run("UPDATE t SET a = ? WHERE id = ?", s.value(), id)
		case 5: // as long as before: in place, in overflow pages too
			s.run("UPDATE t SET a = substr(a, 1, length(a) - 1) || 'X' WHERE id = ? AND typeof(a) = 'text' AND length(a) > 0", id)
		case 6:
			s.run("DELETE FROM t WHERE id BETWEEN ? AND ?", id, id+int64(s.r.IntN(4)))
		case 7, 8:
			s.run("INSERT OR REPLACE INTO u(k, v, m) VALUES(?, ?, 'row of u')", "k"+strconv.Itoa(s.r.IntN(30)), s.value())
		case 9:
			s.run("DELETE FROM u WHERE k = ?", "k"+strconv.Itoa(s.r.IntN(30)))
		}
		if tx {
			s.now() // pages may keep what was never committed
		}
	}
	if tx {
		if s.r.IntN(12) == 0 {
			s.run("ROLLBACK")
		} else {
			s.run("COMMIT")
		}
	}
	s.note()
	switch s.r.IntN(60) {
	case 0:
		if s.reader == nil {
			s.do("VACUUM")
		}
	case 1:
		if s.added++; s.added < 4 {
			s.do(fmt.Sprintf("ALTER TABLE t ADD COLUMN x%d", s.added))
		}
	case 2:
		s.do("DELETE FROM t")
	case 3:
		s.do("PRAGMA incremental_vacuum(3)")
	case 4:
		s.do("BEGIN; CREATE TABLE t2 AS SELECT * FROM u; DROP TABLE t2; CREATE INDEX IF NOT EXISTS i ON t(a); COMMIT")
	case 5:
		s.reordered["u"] = true
		s.do("BEGIN; ALTER TABLE u RENAME TO old; CREATE TABLE u(v, k TEXT PRIMARY KEY, m TEXT NOT NULL); INSERT INTO u(k, v, m) SELECT k, v, m FROM old; DROP TABLE old; COMMIT")
	}
}

// patch writes over bytes of a file.
func patch(t testing.TB, path string, at int64, b ...byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}
