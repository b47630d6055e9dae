package synth_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gander/cmd/gander-synth/synth"
	"gander/extract"
	"gander/load/pipeline"
	"gander/load/warehouse"
)

// options is a fleet with a bit of everything.
func options() synth.Options {
	o := synth.Defaults()
	o.Homes, o.MB, o.WAL = 4, 1, 0.5
	o.Images, o.Forks, o.Compactions, o.SubAgents = 0.05, 0.2, 0.3, 0.3
	o.Legacy, o.Logs, o.History = 4, 5, 20
	return o
}

func write(t *testing.T, o synth.Options) (string, synth.Counts) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "fleet")
	counts, err := synth.Write(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return dir, counts
}

// hashes are the SHA-256 of every file, by its path.
func hashes(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	sums := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		sums[rel] = sha256.Sum256(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

func TestSameSeedSameBytes(t *testing.T) {
	first, counts := write(t, options())
	// Homes that are written side by side must not show in each other.
	procs := runtime.GOMAXPROCS(1)
	second, again := write(t, options())
	runtime.GOMAXPROCS(procs)
	if counts != again {
		t.Errorf("counts differ:\n%+v\n%+v", counts, again)
	}
	a, b := hashes(t, first), hashes(t, second)
	if !maps.Equal(a, b) {
		for path := range a {
			if a[path] != b[path] {
				t.Errorf("%s differs", path)
			}
		}
	}
	if len(a) != 4+int(counts.WALs+counts.LegacyFiles+counts.Logs)+4 {
		t.Errorf("%d files of %+v", len(a), counts)
	}
	other := options()
	other.Seed = 2
	third, _ := write(t, other)
	c := hashes(t, third)
	for path := range a {
		if filepath.Ext(path) == ".db" && a[path] == c[path] && !strings.Contains(path, "0002") && !strings.Contains(path, "0004") {
			t.Errorf("%s does not depend on the seed", path)
		}
	}
}

// SQLite must find nothing wrong, with what stands in the log alone as well.
func TestIntegrity(t *testing.T) {
	dir, counts := write(t, options())
	paths, _ := filepath.Glob(filepath.Join(dir, "*", "home", "*", ".local/share/goose/sessions/sessions.db"))
	if len(paths) != 4 || counts.WALs != 2 {
		t.Fatalf("%d databases, %d logs", len(paths), counts.WALs)
	}
	var total, logged int64
	for _, path := range paths {
		db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var answer string
		var messages int64
		if err := db.QueryRow("PRAGMA integrity_check").Scan(&answer); err != nil || answer != "ok" {
			t.Errorf("%s: %s, %v", path, answer, err)
		}
		if err := db.QueryRow("SELECT count(*) FROM messages").Scan(&messages); err != nil {
			t.Error(err)
		}
		var bad int64
		if err := db.QueryRow("SELECT count(*) FROM messages WHERE NOT json_valid(content_json) OR NOT json_valid(metadata_json)").Scan(&bad); err != nil || bad > 0 {
			t.Errorf("%d messages are no JSON, %v", bad, err)
		}
		total += messages
		if _, err := os.Stat(path + "-wal"); err == nil {
			logged += messages
		}
	}
	if total != counts.Messages || logged == 0 {
		t.Errorf("%d messages, %d were written; %d stood in logs", total, counts.Messages, logged)
	}
}

// A log of a large home holds what was written last, the database the rest.
func TestLogOfLargeHome(t *testing.T) {
	o := options()
	o.Homes, o.MB, o.WAL, o.Legacy = 1, 8, 1, 0
	dir, _ := write(t, o)
	paths, _ := filepath.Glob(filepath.Join(dir, "*", "home", "*", ".local/share/goose/sessions/sessions.db*"))
	if len(paths) != 2 {
		t.Fatalf("files %v", paths)
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || info.Size() < 1e6 {
			t.Errorf("%s: %v, %v", path, info.Size(), err)
		}
	}
}

// gander reads the fleet without a finding, and as many records as there are.
func TestPipeline(t *testing.T) {
	dir, counts := write(t, options())
	w, err := warehouse.Open(filepath.Join(t.TempDir(), "w"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	opened, err := extract.Open(t.Context(), []string{dir}, extract.Options{Scratch: w.Scratch()})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	sum, err := (&pipeline.Runner{Warehouse: w, RunID: "r"}).Run(t.Context(), pipeline.Jobs(opened))
	if err != nil {
		t.Fatal(err)
	}
	if !sum.Complete() || sum.Bad != 0 || sum.Rows["issues"] != 0 {
		t.Errorf("problems %+v, failures %+v, %d bad records, %d issues", sum.Problems, sum.Failures, sum.Bad, sum.Rows["issues"])
	}
	records := map[extract.Store]int64{}
	for _, s := range sum.Stores {
		records[s.Store] = s.Records
	}
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"homes", sum.Homes, counts.Homes},
		{"records of databases", records[extract.SessionsDB], counts.Sessions + counts.Messages + counts.Usage},
		{"lines of session files", records[extract.LegacyJSONL], counts.LegacyLines},
		{"request logs", records[extract.LLMRequestLog], counts.Logs},
		{"entries of histories", records[extract.CLIHistory], counts.History},
		{"rows of usage", sum.Rows["usage"], counts.Usage},
	} {
		if c.got != c.want || c.want == 0 {
			t.Errorf("%d %s, %d were written", c.got, c.what, c.want)
		}
	}
	if counts.Images == 0 || counts.Copied == 0 || counts.SubAgents == 0 || counts.Imported == 0 {
		t.Errorf("the fleet lacks something: %+v", counts)
	}
	if sum.Rows["events"] < counts.Blocks || sum.Rows["tool_calls"] < counts.ToolRequests || sum.Rows["dedup_links"] == 0 {
		t.Errorf("rows %v for %+v", sum.Rows, counts)
	}
}

func TestRefused(t *testing.T) {
	for name, change := range map[string]func(*synth.Options){
		"homes": func(o *synth.Options) { o.Homes = 0 },
		"MB":    func(o *synth.Options) { o.MB = 0 },
		"wal":   func(o *synth.Options) { o.WAL = 1.5 },
		"logs":  func(o *synth.Options) { o.Logs = 11 },
	} {
		o := synth.Defaults()
		change(&o)
		dir := filepath.Join(t.TempDir(), "fleet")
		if _, err := synth.Write(t.Context(), dir, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: the directory was made", name)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := synth.Write(t.Context(), dir, synth.Defaults()); err == nil {
		t.Error("a directory with files in it is written to")
	}
	if _, err := synth.ParseMix("odd"); err == nil || !strings.Contains(err.Error(), "large, real, small") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := synth.Write(ctx, filepath.Join(t.TempDir(), "fleet"), synth.Defaults()); err == nil {
		t.Error("a cancelled fleet is written")
	}
}

// A log with other salts must be one that SQLite takes, whoever wrote it.
func TestLogsDiffer(t *testing.T) {
	dir, _ := write(t, options())
	paths, _ := filepath.Glob(filepath.Join(dir, "*", "home", "*", ".local/share/goose/sessions/sessions.db-wal"))
	var salts [][]byte
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		salts = append(salts, text[16:24])
	}
	if len(salts) != 2 || bytes.Equal(salts[0], salts[1]) {
		t.Errorf("salts %x", salts)
	}
}
