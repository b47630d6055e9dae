package warehouse

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"gander/load/parquet"
	"gander/schemas"
	"gander/schemas/fault"
)

func mustOpen(t testing.TB, dir string) *Warehouse {
	t.Helper()
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// wantOutput checks that err will end a run with exit code 3 and says what to do.
func wantOutput(t testing.TB, what string, err error, path string) {
	t.Helper()
	var fe *fault.Error
	if !errors.As(err, &fe) || fe.Kind != fault.Output || fe.Hint == "" || fe.Path != path {
		t.Errorf("%s: %#v, want an output error with a hint, of %s", what, err, path)
	}
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

func put(t testing.TB, path, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpenMakes(t *testing.T) {
	root := t.TempDir()
	for name, prepare := range map[string]func(dir string){
		"absent":         func(string) {},
		"absent, nested": nil,
		"empty":          func(dir string) { os.Mkdir(dir, 0o755) },
		"half made": func(dir string) {
			put(t, filepath.Join(dir, lockFile), "")
			put(t, filepath.Join(dir, markerTemp), "{")
		},
	} {
		dir := filepath.Join(root, name)
		if prepare == nil {
			dir = filepath.Join(dir, "a", "b")
		} else {
			prepare(dir)
		}
		w := mustOpen(t, dir)
		if body, err := os.ReadFile(filepath.Join(dir, "gander.json")); err != nil || !strings.Contains(string(body), `"program":"gander"`) {
			t.Errorf("%s: marker %s, %v", name, body, err)
		}
		if info, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		for _, table := range schemas.Tables() {
			if path := filepath.Join(w.Parquet(), table.Name, "home_id=none", "empty.parquet"); !exists(path) {
				t.Errorf("%s: no %s", name, path)
			}
		}
		if homes, err := w.Homes(); err != nil || len(homes) != 0 {
			t.Errorf("%s: homes %v, %v", name, homes, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		mustOpen(t, dir)
	}
}

func TestOpenRefuses(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	put(t, at("file"), "x")
	put(t, at("foreign/notes.txt"), "x")
	put(t, at("program/gander.json"), `{"program":"goose","format":1}`)
	put(t, at("zero/gander.json"), `{"program":"gander"}`)
	put(t, at("cut/gander.json"), `{"program":`)
	put(t, at("newer/gander.json"), `{"program":"gander","format":2}`)
	for _, name := range []string{"file", "foreign", "program", "zero", "cut", "newer"} {
		_, err := Open(at(name))
		wantOutput(t, name, err, at(name))
		_, err = OpenReadOnly(at(name))
		wantOutput(t, name+", read only", err, at(name))
		if info, _ := os.Stat(at(name)); info.IsDir() {
			if entries, _ := os.ReadDir(at(name)); len(entries) != 1 {
				t.Errorf("%s: %v is in what was refused", name, entries)
			}
		}
	}
	if _, err := Open(at("newer")); !strings.Contains(fault.HintOf(err), "newer") {
		t.Errorf("newer: hint %q", fault.HintOf(err))
	}
	_, err := OpenReadOnly(at("absent"))
	wantOutput(t, "absent, read only", err, at("absent"))
	if exists(at("absent")) {
		t.Error("a read-only open makes a directory")
	}

	_, err = Open(at("file/below"))
	wantOutput(t, "below a file", err, at("file/below"))
	if runtime.GOOS == "linux" {
		_, err = Open("/proc/gander-cannot-be-made")
		wantOutput(t, "no writing", err, "/proc/gander-cannot-be-made")
	}
	if os.Geteuid() > 0 {
		if err := os.Mkdir(at("closed"), 0o500); err != nil {
			t.Fatal(err)
		}
		_, err = Open(at("closed/warehouse"))
		wantOutput(t, "no permission", err, at("closed/warehouse"))
	}
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	first := mustOpen(t, dir)
	put(t, filepath.Join(first.Scratch(), "mine"), "x")
	_, err := Open(dir)
	wantOutput(t, "second writer", err, dir)
	if !exists(filepath.Join(first.Scratch(), "mine")) {
		t.Error("the second writer removed the scratch of the first")
	}
	reader, err := OpenReadOnly(dir)
	if err != nil {
		t.Fatalf("a reader beside a writer: %v", err)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(dir); err == nil {
		t.Error("closing a reader gave up the lock of the writer")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, dir)
}

func TestScratch(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir).Close()
	put(t, filepath.Join(dir, ".scratch-1", "deep", "db"), "x")
	put(t, filepath.Join(dir, ".scratch-of-a-user", "x"), "x")
	w := mustOpen(t, dir)
	if exists(filepath.Join(dir, ".scratch-1")) || !exists(filepath.Join(dir, ".scratch-of-a-user")) {
		t.Error("exactly the scratch of dead processes must go")
	}
	if want := filepath.Join(dir, fmt.Sprintf(".scratch-%d", os.Getpid())); w.Scratch() != want || !exists(want) {
		t.Errorf("scratch is %s, want %s", w.Scratch(), want)
	}
	for range 2 {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if exists(w.Scratch()) {
		t.Error("scratch outlives Close")
	}
	if _, err := w.Stage("h"); err == nil {
		t.Error("a stage after Close")
	}
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir)
	commit(t, w, "h", version(1, "events"))
	w.Close()
	r, err := OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	if homes, err := r.Homes(); err != nil || len(homes) != 1 {
		t.Errorf("homes %v, %v", homes, err)
	}
	if _, err := r.Stage("h"); err == nil {
		t.Error("a stage of a warehouse that is opened for reading")
	}
	if err := r.RecordRun("r", 1); err == nil {
		t.Error("a run in a warehouse that is opened for reading")
	}
	if r.Close() != nil || exists(r.Scratch()) {
		t.Error("a reader has no scratch")
	}
}

var clock = time.Date(2026, 10, 3, 16, 55, 31, 0, time.FixedZone("", 3600))

// staged is a version of a home: the content of each table's file.
type staged map[string]string

func version(n int, tables ...string) staged {
	v := staged{}
	for _, table := range tables {
		v[table] = strings.Repeat(fmt.Sprintf("%s in version %d\n", table, n), n)
	}
	return v
}

func stage(t testing.TB, w *Warehouse, home string, v staged) (*Stage, Manifest) {
	t.Helper()
	s, err := w.Stage(home)
	if err != nil {
		t.Fatal(err)
	}
	m := Manifest{RunID: "run", GanderVersion: "v0", CommittedAt: clock, Summary: json.RawMessage(`{"records":1}`)}
	for _, table := range schemas.Tables() { // in order
		body, ok := v[table.Name]
		if !ok {
			continue
		}
		put(t, filepath.Join(s.Dir(), table.Name, "data.parquet"), body)
		m.Files = append(m.Files, parquet.File{Table: table.Name, Path: table.Name + "/data.parquet", Rows: int64(len(m.Files)), Bytes: int64(len(body)), SHA256: "00"})
	}
	return s, m
}

func commit(t testing.TB, w *Warehouse, home string, v staged) {
	t.Helper()
	s, m := stage(t, w, home, v)
	if err := s.Commit(m); err != nil {
		t.Fatal(err)
	}
}

// content returns every file of the tables and every manifest, without the empty files.
func content(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, sub := range []string{parquetDir, homesDir} {
		err := filepath.WalkDir(filepath.Join(dir, sub), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Base(path) == parquet.EmptyFile {
				return err
			}
			body, err := os.ReadFile(path)
			rel, _ := filepath.Rel(dir, path)
			out[filepath.ToSlash(rel)] = string(body)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestCommit(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir)
	commit(t, w, "b-1", version(1, "events", "sessions"))
	commit(t, w, "b", version(1)) // a home without a row
	first := content(t, dir)

	homes, err := w.Homes()
	if err != nil {
		t.Fatal(err)
	}
	one := version(1, "events", "sessions")
	want := []Manifest{
		{HomeID: "b", RunID: "run", GanderVersion: "v0", CommittedAt: clock.UTC(), Files: nil},
		{HomeID: "b-1", RunID: "run", GanderVersion: "v0", CommittedAt: clock.UTC(), Files: []parquet.File{
			{Table: "sessions", Path: "parquet/sessions/home_id=b-1/data.parquet", Rows: 0, Bytes: int64(len(one["sessions"])), SHA256: "00"},
			{Table: "events", Path: "parquet/events/home_id=b-1/data.parquet", Rows: 1, Bytes: int64(len(one["events"])), SHA256: "00"},
		}},
	}
	for i := range homes {
		var summary struct{ Records int }
		if err := json.Unmarshal(homes[i].Summary, &summary); err != nil || summary.Records != 1 {
			t.Errorf("summary of %s: %s", homes[i].HomeID, homes[i].Summary)
		}
		homes[i].Summary = nil
	}
	if diff := cmp.Diff(want, homes); diff != "" {
		t.Errorf("homes (-want +got):\n%s", diff)
	}
	for _, f := range want[1].Files {
		if first[f.Path] != one[f.Table] {
			t.Errorf("%s holds %q", f.Path, first[f.Path])
		}
	}
	if len(first) != 4 {
		t.Errorf("files: %v", first)
	}

	// A table that this gander does not know goes too.
	put(t, filepath.Join(dir, "parquet", "retired", "home_id=b-1", "data.parquet"), "x")
	commit(t, w, "b-1", version(2, "events", "messages"))
	second := content(t, dir)
	two := version(2, "events", "messages")
	delete(second, "homes/b-1.json")
	if diff := cmp.Diff(map[string]string{
		"homes/b.json": first["homes/b.json"],
		"parquet/events/home_id=b-1/data.parquet":   two["events"],
		"parquet/messages/home_id=b-1/data.parquet": two["messages"],
	}, second); diff != "" {
		t.Errorf("after replacement (-want +got):\n%s", diff)
	}
	for _, sub := range []string{w.Scratch(), filepath.Join(dir, commitDir)} {
		if entries, err := os.ReadDir(sub); err != nil || len(entries) != 0 {
			t.Errorf("%s holds %v, %v", sub, entries, err)
		}
	}
}

func TestCommitRefuses(t *testing.T) {
	w := mustOpen(t, t.TempDir())
	for name, change := range map[string]func(s *Stage, m *Manifest){
		"a file is missing":       func(s *Stage, m *Manifest) { os.Remove(filepath.Join(s.Dir(), "events", "data.parquet")) },
		"a file is not described": func(s *Stage, m *Manifest) { m.Files = m.Files[:1] },
		"a file is more":          func(s *Stage, m *Manifest) { put(t, filepath.Join(s.Dir(), "events", "x.parquet"), "x") },
		"a directory is more":     func(s *Stage, m *Manifest) { os.Mkdir(filepath.Join(s.Dir(), "usage"), 0o700) },
		"a file is cut":           func(s *Stage, m *Manifest) { put(t, filepath.Join(s.Dir(), "events", "data.parquet"), "x") },
		"a link": func(s *Stage, m *Manifest) {
			name := filepath.Join(s.Dir(), "events", "data.parquet")
			os.Rename(name, filepath.Join(s.Dir(), "../elsewhere"))
			if err := os.Symlink("../../elsewhere", name); err != nil {
				t.Fatal(err)
			}
		},
		"a file twice":     func(s *Stage, m *Manifest) { m.Files = append(m.Files, m.Files[0]) },
		"no such table":    func(s *Stage, m *Manifest) { m.Files[0].Table = "raw.sessions" },
		"a path elsewhere": func(s *Stage, m *Manifest) { m.Files[0].Path = "../../gander.json" },
	} {
		s, m := stage(t, w, "h", version(1, "events", "sessions"))
		change(s, &m)
		if err := s.Commit(m); err == nil || fault.KindOf(err) != fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Abort(); err != nil || exists(s.Dir()) {
			t.Errorf("%s: abort: %v", name, err)
		}
	}
	if homes, _ := w.Homes(); len(homes) != 0 || len(content(t, w.Dir())) != 0 {
		t.Errorf("refused homes are there: %v", homes)
	}
	s, m := stage(t, w, "h", version(1))
	if err := s.Commit(m); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(m); err == nil {
		t.Error("a stage is committed twice")
	}
	if err := s.Abort(); err != nil {
		t.Errorf("Abort after Commit: %v", err)
	}
}

func TestIDs(t *testing.T) {
	w := mustOpen(t, t.TempDir())
	for _, id := range []string{"", ".", "..", "none", "a/b", `a\b`, "../x", "a\x00", "a b", "ü", "a\n", "C:", strings.Repeat("a", 241)} {
		if s, err := w.Stage(id); err == nil {
			t.Errorf("%q is taken: %s", id, s.Dir())
		}
		if err := w.RecordRun(id, 1); err == nil {
			t.Errorf("run %q is taken", id)
		}
	}
	for _, id := range []string{"linux-01-alice-0a1b2c3d", "...", "-", "none-x", strings.Repeat("a", 240)} {
		commit(t, w, id, version(1, "events"))
	}
	if homes, err := w.Homes(); err != nil || len(homes) != 5 {
		t.Errorf("%d homes: %v", len(homes), err)
	}
}

func TestRuns(t *testing.T) {
	w := mustOpen(t, t.TempDir())
	for _, run := range []struct {
		id   string
		code int
	}{{"20261003-b", 1}, {"20261003-a", 0}, {"20261003-b", 2}} {
		if err := w.RecordRun(run.id, map[string]any{"run_id": run.id, "exit_code": run.code}); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := w.Runs()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, raw := range runs {
		var r struct {
			ID   string `json:"run_id"`
			Code int    `json:"exit_code"`
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(r.ID, " ", r.Code))
	}
	if diff := cmp.Diff([]string{"20261003-a 0", "20261003-b 2"}, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	damaged := filepath.Join(w.Dir(), "runs", "c.json")
	put(t, damaged, "{")
	_, err = w.Runs()
	wantOutput(t, "damaged record", err, damaged)
}

// Homes committed together: one that is not as described fails alone, of two
// versions of a home the later stays.
func TestCommitTogether(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir)
	var commits []Commit
	for _, c := range []struct {
		home string
		v    staged
	}{{"a", version(1, "events")}, {"b", version(2, "events", "usage")}, {"c", version(3, "events")}, {"a", version(4, "sessions")}} {
		s, m := stage(t, w, c.home, c.v)
		commits = append(commits, Commit{s, m})
	}
	commits[1].Manifest.Files[1].Bytes++
	for i, err := range w.Commit(commits...) {
		if failed := i == 1; failed != (err != nil) || failed && fault.KindOf(err) != fault.Internal {
			t.Errorf("commit %d: %v", i, err)
		}
	}
	if err := commits[1].Stage.Abort(); err != nil {
		t.Error(err)
	}
	got := content(t, dir)
	if len(got) != 4 || got["parquet/sessions/home_id=a/data.parquet"] != version(4, "sessions")["sessions"] ||
		got["parquet/events/home_id=c/data.parquet"] != version(3, "events")["events"] || got["homes/a.json"] == "" || got["homes/c.json"] == "" {
		t.Errorf("content: %v", got)
	}
	for _, sub := range []string{w.Scratch(), filepath.Join(dir, commitDir)} {
		if entries, err := os.ReadDir(sub); err != nil || len(entries) != 0 {
			t.Errorf("%s holds %v, %v", sub, entries, err)
		}
	}
}

func TestConcurrentCommits(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir)
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() { // six versions of each of four homes
			s, m := stage(t, w, fmt.Sprint("home-", i%4), version(i+1, "events", "sessions"))
			defer s.Abort()
			if err := s.Commit(m); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	homes, err := w.Homes()
	if err != nil || len(homes) != 4 {
		t.Fatalf("%d homes: %v", len(homes), err)
	}
	for _, m := range homes {
		for _, f := range m.Files {
			if info, err := os.Stat(filepath.Join(dir, f.Path)); err != nil || info.Size() != f.Bytes {
				t.Errorf("%s and its manifest are of two versions: %v", f.Path, err)
			}
		}
	}
}

func TestOutputErrors(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir)
	commit(t, w, "h", version(1, "events"))

	// The commit point is passed, the manifest cannot be moved.
	homes := filepath.Join(dir, homesDir)
	if err := os.Rename(homes, homes+"-away"); err != nil {
		t.Fatal(err)
	}
	s, m := stage(t, w, "h", version(2, "sessions"))
	wantOutput(t, "no homes directory", s.Commit(m), filepath.Join(homes, "h.json"))
	if err := os.Rename(homes+"-away", homes); err != nil {
		t.Fatal(err)
	}
	// The next commit of the home completes it first.
	commit(t, w, "h", version(3, "messages"))
	if got := content(t, dir); len(got) != 2 || got["parquet/messages/home_id=h/data.parquet"] != version(3, "messages")["messages"] {
		t.Errorf("content %v", got)
	}

	if err := os.Remove(filepath.Join(dir, runsDir)); err != nil {
		t.Fatal(err)
	}
	wantOutput(t, "no runs directory", w.RecordRun("r", 1), filepath.Join(dir, runsDir, "r.json"))

	full := OutputError("write", "/x", &fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC})
	if hint := fault.HintOf(full); !strings.Contains(hint, "space") || strings.Count(full.Error(), "/x") != 1 {
		t.Errorf("a full disk: %v (%s)", full, hint)
	}
}

func TestOpenDamaged(t *testing.T) {
	for name, body := range map[string]string{"cut": `{"home_id"`, "of another home": `{"home_id":"x"}`, "without its file": `{"home_id":"h","files":[{"table":"events","path":"parquet/events/home_id=h/data.parquet","bytes":3}]}`} {
		dir := t.TempDir()
		mustOpen(t, dir).Close()
		pending := filepath.Join(dir, commitDir, "h")
		put(t, filepath.Join(pending, manifestFile), body)
		_, err := Open(dir)
		wantOutput(t, name, err, pending)
		if !exists(filepath.Join(pending, manifestFile)) || exists(filepath.Join(dir, homesDir, "h.json")) {
			t.Errorf("%s: the damaged commit is gone or counts", name)
		}
		if err := os.RemoveAll(pending); err != nil {
			t.Fatal(err)
		}
		mustOpen(t, dir) // a failed Open gives up the lock
	}
	dir := t.TempDir()
	mustOpen(t, dir).Close()
	put(t, filepath.Join(dir, commitDir, "no home", "x"), "")
	_, err := Open(dir)
	wantOutput(t, "foreign", err, filepath.Join(dir, commitDir, "no home"))
}

// What a parquet.Writer gives is what Commit takes.
func TestWriterIntoStage(t *testing.T) {
	w := mustOpen(t, t.TempDir())
	s, err := w.Stage("h")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Abort()
	pw := parquet.NewWriter(s.Dir(), parquet.Options{})
	defer pw.Abort()
	b := array.NewRecordBuilder(memory.DefaultAllocator, schemas.Usage.Arrow())
	for _, f := range b.Fields() {
		f.AppendNull()
	}
	if err := pw.Write(b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	files, err := pw.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(Manifest{RunID: "r", Files: files}); err != nil {
		t.Fatal(err)
	}
	homes, err := w.Homes()
	if err != nil || len(homes) != 1 || homes[0].CommittedAt.IsZero() {
		t.Fatalf("homes %+v, %v", homes, err)
	}
	got := homes[0].Files[0]
	body, err := os.ReadFile(filepath.Join(w.Dir(), got.Path))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(body); got.Rows != 1 || got.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("file %+v", got)
	}
}
