package extract

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gander/extract/internal/homefs"
)

// each opens a collection in every form in which one comes.
func each(t *testing.T, name string, files map[string]string, check func(t *testing.T, o *Opened)) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	plant(t, dir, files)
	tarred := collectionTar(t, files)
	for form, input := range map[string]string{
		"dir":     dir,
		"tar":     save(t, name+".tar", tarred),
		"tar.gz":  save(t, name+".tar.gz", gz(t, tarred)),
		"tar.zst": save(t, name+".tar.zst", zst(t, tarred)),
		"zip":     save(t, name+".zip", makeZip(t, entriesOf(files))),
		"no name": save(t, "evidence", gz(t, tarred)),
	} {
		t.Run(form, func(t *testing.T) { check(t, openAll(t, Options{}, input)) })
	}
}

func TestCollection(t *testing.T) {
	files := fakeCollection("srv", "/home/alice", "Alice", map[string]string{
		"home/alice/.local/share/goose/sessions/sessions.db":     "db",
		"home/alice/.local/share/goose/sessions/sessions.db-wal": "wal",
		"home/alice/.local/state/goose/history.txt":              "x",
		"home/alice/.config/goose/config.yaml":                   "secret",
		"home/alice/root/data/schedule.json":                     "[]",
	}, fakeRow{User: "nobody", Home: "/home/nobody", Path: "/home/nobody/.claude.json", ArchivePath: "fs/home/nobody/.claude.json", Status: collected})
	each(t, "x", files, func(t *testing.T, o *Opened) {
		want := []string{
			"srv Alice /home/alice xdg",
			"  sessions_db .local/share/goose/sessions/sessions.db read wal=3",
			"  cli_history .local/state/goose/history.txt read",
			"srv Alice /home/alice/root path_root",
			"  schedule_json data/schedule.json read",
			"srv nobody /home/nobody ",
		}
		if d := cmp.Diff(want, show(o.Homes...)); d != "" {
			t.Fatal(d)
		}
		h := o.Homes[0]
		if h.Kind != Collection || !h.CollectedAt.Equal(time.Date(2026, 3, 4, 6, 0, 0, 0, time.UTC)) || h.Inferred {
			t.Errorf("%+v", h)
		}
		f := h.Files[0]
		if f.SHA256 != sha("db") || f.WAL.SHA256 != sha("wal") || !f.MTime.Equal(testTime.Add(-time.Minute)) || !f.WAL.MTime.Equal(f.MTime) {
			t.Errorf("%+v", f)
		}
		if f.Path != "/home/alice/.local/share/goose/sessions/sessions.db" {
			t.Error(f.Path)
		}
		for local, want := range map[string]string{f.Local: "db", f.WAL.Local: "wal", h.Files[1].Local: "x"} {
			if got, err := os.ReadFile(local); err != nil || string(got) != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		}
		if !f.Evidence && f.WAL.Local != f.Local+"-wal" {
			t.Errorf("SQLite would not find %s beside %s", f.WAL.Local, f.Local)
		}
	})
}

func TestWindowsCollection(t *testing.T) {
	files := fakeCollection("win-03", `C:\Users\carol`, "carol", map[string]string{
		"C/Users/carol/AppData/Roaming/Block/goose/data/history.txt": "x",
		"D/gr/state/history.txt":                                     "x",
	})
	check := func(t *testing.T, o *Opened) {
		want := []string{
			`win-03 carol C:\Users\carol windows`,
			"  cli_history AppData/Roaming/Block/goose/data/history.txt read",
			`win-03 carol D:\gr path_root`,
			"  cli_history state/history.txt read",
		}
		if d := cmp.Diff(want, show(o.Homes...)); d != "" {
			t.Error(d)
		}
		if p := o.Homes[0].Files[0].Path; p != `C:\Users\carol\AppData\Roaming\Block\goose\data\history.txt` {
			t.Error(p)
		}
	}
	each(t, "x", files, check)
	t.Run("backslashes", func(t *testing.T) {
		entries := entriesOf(files)
		for i := range entries {
			entries[i].Name = strings.ReplaceAll(entries[i].Name, "/", `\`)
		}
		check(t, openAll(t, Options{}, save(t, "x.zip", makeZip(t, entries))))
	})
}

// A file that lies where no store is looked for is missing where it should be.
func TestManifestElsewhere(t *testing.T) {
	const db = "/home/a/.local/share/goose/sessions/sessions.db"
	row := fakeRow{User: "a", Home: "/home/a", Path: db, Size: 1, Status: collected, ArchivePath: "fs/x/y"}
	files := fakeCollection("srv", "/home/a", "a", nil, row)
	files["fs/x/y"] = "z"
	dir := t.TempDir()
	plant(t, dir, files)
	o := openAll(t, Options{}, dir)
	if len(o.Homes) != 1 || len(o.Homes[0].Files) != 1 || o.Homes[0].Files[0].Path != db || o.Homes[0].Files[0].Status != Missing {
		t.Errorf("%+v", o.Homes)
	}
}

func TestManifestStatuses(t *testing.T) {
	const logs = "/home/a/.local/state/goose/logs/llm_request.%d.jsonl"
	var rows []fakeRow
	for i, r := range []fakeRow{
		{Status: "skipped_size"}, {Status: "skipped_secret"}, {Status: "symlink"}, {Status: "skipped_excluded"},
		{Status: "skipped_unmatched_volume"}, {Status: "error_copy", Error: "disk full"}, {Status: "error_read"},
		{Status: "new_word"}, {Status: ""}, {Status: collected},
	} {
		r.User, r.Home, r.Path, r.Size = "a", "/home/a", fmt.Sprintf(logs, i), 77
		rows = append(rows, r)
	}
	files := fakeCollection("srv", "/home/a", "a", nil, rows...)
	for _, form := range []string{"with fs", "without fs"} {
		dir := t.TempDir()
		if form == "with fs" {
			files = maps.Clone(files)
			files["fs/"] = ""
		}
		plant(t, dir, files)
		o := openAll(t, Options{}, dir)
		log := func(i int, rest string) string {
			return fmt.Sprintf("  llm_request_log .local/state/goose/logs/llm_request.%d.jsonl %s", i, rest)
		}
		want := []string{
			"srv a /home/a xdg",
			log(0, "skipped_size"), log(1, "skipped_secret"), log(2, "missing (symlink)"), log(3, "missing (skipped_excluded)"),
			log(4, "missing (skipped_unmatched_volume)"), log(5, "missing (error_copy: disk full)"), log(6, "missing (error_read)"),
			log(7, "missing (new_word)"), log(8, "missing (without a status)"), log(9, "missing (collected, but not in the collection)"),
			"  ! member_missing /home/a/.local/state/goose/logs/llm_request.9.jsonl",
		}
		if d := cmp.Diff(want, show(o.Homes...)); d != "" {
			t.Errorf("%s: %s", form, d)
		}
		if f := o.Homes[0].Files[0]; f.Size != 77 || f.Local != "" || f.MTime.IsZero() {
			t.Errorf("%+v", f)
		}
	}
}

func TestManifestDatabase(t *testing.T) {
	const s = "home/a/.local/share/goose/sessions/"
	row := func(name, status string) fakeRow {
		return fakeRow{User: "a", Home: "/home/a", Path: "/" + s + name, Status: status}
	}
	for _, tc := range []struct {
		name  string
		files map[string]string
		rows  []fakeRow
		want  string
	}{
		{"WAL skipped", map[string]string{"sessions.db": "d"}, []fakeRow{row("sessions.db-wal", "skipped_size")}, "sessions/sessions.db read (WAL: skipped_size) walmissing"},
		{"WAL failed", map[string]string{"sessions.db": ""}, []fakeRow{row("sessions.db-wal", "error_copy")}, "sessions/sessions.db read (WAL: error_copy) walmissing"},
		{"no WAL", map[string]string{"sessions.db": "d"}, nil, "sessions/sessions.db read"},
		{"database skipped", map[string]string{"sessions.db-wal": "w"}, []fakeRow{row("sessions.db", "skipped_size")}, "sessions/sessions.db skipped_size wal=1"},
		{"both skipped", nil, []fakeRow{row("sessions.db", "skipped_excluded"), row("sessions.db-wal", "skipped_excluded")}, "sessions/sessions.db missing (skipped_excluded)"},
		{"WAL alone", map[string]string{"sessions.db-wal": "w"}, nil, "sessions/sessions.db missing (write-ahead log without its database) wal=1"},
		{"shm skipped", map[string]string{"sessions.db": "d"}, []fakeRow{row("sessions.db-shm", "error_copy")}, "sessions/sessions.db read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := make(map[string]string)
			for name, body := range tc.files {
				files[s+name] = body
			}
			each(t, "x", fakeCollection("srv", "/home/a", "a", files, tc.rows...), func(t *testing.T, o *Opened) {
				want := []string{"srv a /home/a xdg", "  sessions_db .local/share/goose/" + tc.want}
				if d := cmp.Diff(want, show(o.Homes...)); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

func TestManifestDirectories(t *testing.T) {
	row := func(path, status string) fakeRow {
		return fakeRow{User: "a", Home: "/home/a", Path: "/home/a/" + path, Status: status}
	}
	files := fakeCollection("srv", "/home/a", "a", nil,
		row(".local/share/goose/sessions", "symlink"), row(".local/share/goose/models", "skipped_excluded"),
		row(".local/state/goose/logs", collected), row(".config/goose", "error_read"))
	each(t, "x", files, func(t *testing.T, o *Opened) {
		want := []string{
			"srv a /home/a xdg",
			"  sessions_db .local/share/goose/sessions missing (symlink)",
			"  legacy_jsonl .config/goose missing (error_read)",
			"  legacy_jsonl .local/share/goose/sessions missing (symlink)",
			"  cli_history .config/goose missing (error_read)",
			"  permission_yaml .config/goose missing (error_read)",
			"  tool_permissions_json .config/goose missing (error_read)",
			"  roaming_trust .config/goose missing (error_read)",
		}
		if d := cmp.Diff(want, show(o.Homes...)); d != "" {
			t.Error(d)
		}
	})
}

func TestManifestAgainstFiles(t *testing.T) {
	files := fakeCollection("srv", "/home/a", "a", map[string]string{
		"home/a/.config/goose/permission.yaml":                   "x",
		"home/a/.local/share/goose/sessions/sessions.db":         "d",
		"home/a/.local/share/goose/sessions/sessions.db-wal":     "w",
		"home/a/.local/share/goose/sessions/sessions.db-journal": "j",
		"home/a/.config/goose/sessions/a.jsonl":                  "x",
	}, fakeRow{User: "b", Home: "/home/b", Path: "/home/a/.config/goose/roaming_trust.json", ArchivePath: "fs/home/a/.config/goose/roaming_trust.json", Status: collected, Size: 9})
	files["fs/home/a/.config/goose/roaming_trust.json"] = "{}"
	files["fs/home/a/.config/goose/permission.yaml"] = "changed"
	files["fs/home/a/.local/share/goose/sessions/sessions.db-wal"] = "changed"
	files["fs/home/a/.local/state/goose/history.txt"] = "x"
	files["fs/home/a/.local/share/goose/sessions/sessions.db-shm"] = "x"
	files["fs/home/c/.config/goose/history.txt"] = "x"
	lines := strings.SplitAfter(files["manifest.jsonl"], "\n")
	files["manifest.jsonl"] = "\ufeff" + lines[0] + "\r\n\n{\"path\": 1}\n[]\nnot json\n{}\n" + strings.Join(lines[1:], "")
	files["manifest.jsonl"] = strings.Replace(files["manifest.jsonl"], sha("d"), strings.ToUpper(sha("d")), 1)
	files["manifest.jsonl"] = strings.TrimSuffix(files["manifest.jsonl"], "\n")
	each(t, "x", files, func(t *testing.T, o *Opened) {
		want := []string{
			"srv a /home/a xdg",
			"  sessions_db .local/share/goose/sessions/sessions.db read wal=7 journal=1",
			"  legacy_jsonl .config/goose/sessions/a.jsonl read",
			"  cli_history .local/state/goose/history.txt read",
			"  permission_yaml .config/goose/permission.yaml read",
			"  roaming_trust .config/goose/roaming_trust.json read",
			"  ! bad_manifest_line manifest.jsonl",
			"  ! bad_manifest_line manifest.jsonl",
			"  ! bad_manifest_line manifest.jsonl",
			"  ! bad_manifest_line manifest.jsonl",
			"  ! hash_mismatch /home/a/.local/share/goose/sessions/sessions.db-wal",
			"  ! not_in_manifest /home/a/.local/state/goose/history.txt",
			"  ! hash_mismatch /home/a/.config/goose/permission.yaml",
			"  ! size_mismatch /home/a/.config/goose/roaming_trust.json",
			"  ! home_mismatch /home/a/.config/goose/roaming_trust.json",
			"srv b /home/b ",
			"srv c /home/c xdg",
			"  cli_history .config/goose/history.txt read",
			"  ! not_in_manifest /home/c/.config/goose/history.txt",
		}
		if d := cmp.Diff(want, show(o.Homes...)); d != "" {
			t.Error(d)
		}
		if is := o.Homes[0].Issues[0].Message; !strings.Contains(is, "line 4 ") {
			t.Error(is)
		}
		if f := o.Homes[0].Files[3]; f.SHA256 != sha("changed") {
			t.Error("the hash is not that of the bytes")
		}
	})
}

func TestSidecar(t *testing.T) {
	data := gz(t, collectionTar(t, fakeCollection("srv", "/home/a", "a", map[string]string{"home/a/.config/goose/history.txt": "x"})))
	zipped := makeZip(t, entriesOf(fakeCollection("srv", "/home/a", "a", map[string]string{"home/a/.config/goose/history.txt": "x"})))
	for _, tc := range []struct {
		name, sidecar string
		data          []byte
		want          []string
	}{
		{"right", sha(string(data)) + "  c.tar.gz\n", data, nil},
		{"right zip", strings.ToUpper(sha(string(zipped))), zipped, nil},
		{"wrong", sha("x") + "  c.tar.gz\n", data, []string{"hash_mismatch"}},
		{"wrong zip", sha("x"), zipped, []string{"hash_mismatch"}},
		{"of several", sha("x") + "  other\n" + sha(string(data)) + " *c.tar.gz\n", data, nil},
		{"BSD", "SHA256 (c.tar.gz) = " + sha(string(data)), data, nil},
		{"junk", "hello", data, []string{"hash_unchecked"}},
		{"data after the end", sha(string(data) + "more"), append(slices.Clone(data), "more"...), nil},
	} {
		local := save(t, "c.tar.gz", tc.data)
		must(t, os.WriteFile(local+".sha256", []byte(tc.sidecar), 0o600))
		for _, input := range []string{local, filepath.Dir(local)} {
			o := openAll(t, Options{}, input)
			var got []string
			for _, is := range o.Homes[0].Issues {
				got = append(got, is.Code)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("%s: %s", tc.name, d)
			}
		}
	}
}

func TestCollectionParts(t *testing.T) {
	whole := fakeCollection("srv", "/home/a", "a", map[string]string{"home/a/.config/goose/history.txt": "x"})
	without := func(name string) map[string]string {
		m := maps.Clone(whole)
		delete(m, name)
		return m
	}
	each(t, "box_20261130T200000Z_agent-artifacts", without("manifest.jsonl"), func(t *testing.T, o *Opened) {
		want := []string{"srv a /home/a xdg", "  cli_history .config/goose/history.txt read", "  ! manifest_missing manifest.jsonl"}
		if d := cmp.Diff(want, show(o.Homes...)); d != "" {
			t.Error(d)
		}
	})
	each(t, "box_20261130T200000Z_agent-artifacts", without("collection.json"), func(t *testing.T, o *Opened) {
		host := "box"
		if strings.Contains(o.Homes[0].Input, "evidence") {
			host = "evidence"
		}
		want := []string{host + " a /home/a xdg", "  cli_history .config/goose/history.txt read", "  ! bad_collection_json collection.json"}
		if d := cmp.Diff(want, show(o.Homes...)); d != "" {
			t.Error(d)
		}
		if !o.Homes[0].Inferred || !o.Homes[0].CollectedAt.IsZero() {
			t.Errorf("%+v", o.Homes[0])
		}
	})
	// Two names alone do not make a collection.
	dir := t.TempDir()
	plant(t, dir, map[string]string{"p/fs/x/.config/goose/history.txt": "x", "p/manifest.jsonl": "{\"a\":1}\n"})
	if o := openAll(t, Options{}, dir); o.Homes[0].Kind != Tree {
		t.Error(show(o.Homes...))
	}
}

func TestManifestLimits(t *testing.T) {
	pad := func(n int) string {
		line := `{"home":"/home/a","path":"/home/a/.config/goose/history.txt","status":"skipped_size","x":"`
		return line + strings.Repeat("x", n-len(line)-len("\"}\n")) + "\"}\n"
	}
	for _, tc := range []struct{ size, bad int }{{maxManifestLine, 0}, {maxManifestLine + 1, 1}} {
		m, err := readManifest(context.Background(), strings.NewReader("\n"+pad(tc.size)+"\n"))
		must(t, err)
		if len(m.issues.list()) != tc.bad || m.lines != 1-tc.bad {
			t.Errorf("%d bytes: %v", tc.size, m.issues.list())
		}
	}
	for _, tc := range []struct{ lines, issues int }{{maxIssues, maxIssues}, {maxIssues + 1, maxIssues + 1}, {5 * maxIssues, maxIssues + 1}} {
		m, err := readManifest(context.Background(), strings.NewReader(strings.Repeat("x\n", tc.lines)))
		must(t, err)
		if got := len(m.issues.list()); got != tc.issues {
			t.Errorf("%d bad lines make %d issues, want %d", tc.lines, got, tc.issues)
		}
	}
}

func TestTimes(t *testing.T) {
	for raw, want := range map[string]string{
		"1796068388": "2026-11-30T19:53:08Z", `"1796068388"`: "2026-11-30T19:53:08Z", "1796068388.25": "2026-11-30T19:53:08.25Z",
		"1796068388123": "2026-11-30T19:53:08.123Z", "0": "", "-5": "", "null": "", `""`: "", "1e30": "", "NaN": "",
		`"2026-11-30T20:00:05+02:00"`: "2026-11-30T18:00:05Z", `"2026-11-30 20:00:05"`: "2026-11-30T20:00:05Z", `"soon"`: "",
	} {
		got := ""
		if at := jsonTime([]byte(raw)); !at.IsZero() {
			got = at.Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", raw, got, want)
		}
	}
}

func FuzzReadManifest(f *testing.F) {
	f.Add(fakeCollection("srv", `C:\Users\c`, "c", map[string]string{"C/Users/c/AppData/Roaming/Block/goose/data/history.txt": "x"})[manifestName])
	f.Add(`{"path":"/../x","archive_path":"fs/../../etc/.config/goose/history.txt","home":"..","size":-1,"mtime":1e400,"status":"?"}`)
	f.Add("\ufeff\n{}\r\n[1]\n{\"path\":\"\\u0000\"}")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := readManifest(context.Background(), strings.NewReader(text))
		must(t, err)
		for at, r := range m.rows {
			if strings.HasPrefix(at, "/") || strings.Contains("/"+at+"/", "/../") || r.at != at {
				t.Errorf("%q leads out of fs", at)
			}
		}
		// Whatever it says, it can be laid over a tree and read.
		src := collectionSource{tree: homefs.NewMem(), manifest: m, check: true}
		if _, _, err := src.homes(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
}
