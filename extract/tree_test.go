package extract

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gander/extract/internal/homefs"
)

func TestTreeStores(t *testing.T) {
	const h = "linux-01/home/alice/"
	root := t.TempDir()
	plant(t, root, map[string]string{
		h + ".local/share/goose/sessions/sessions.db":             "db",
		h + ".local/share/goose/sessions/sessions.db-wal":         "wal",
		h + ".local/share/goose/sessions/sessions.db-journal":     "jo",
		h + ".local/share/goose/sessions/sessions.db-shm":         "shm",
		h + ".local/share/goose/sessions/backup.db":               "old",
		h + ".local/share/goose/sessions/a.jsonl":                 "{}",
		h + ".local/share/goose/sessions/._a.jsonl":               "apple",
		h + ".local/share/goose/sessions/a.jsonl.tmp":             "no",
		h + ".local/share/goose/schedule.json":                    "[]",
		h + ".local/share/goose/schedules.json":                   "[]",
		h + ".local/share/goose/projects.json":                    "{}",
		h + ".local/state/goose/logs/llm_request.0.jsonl":         "{}",
		h + ".local/state/goose/logs/llm_request.x-y.jsonl":       "",
		h + ".local/state/goose/logs/llm_request.jsonl":           "no",
		h + ".local/state/goose/logs/llm_request.1.jsonl.gz":      "no",
		h + ".local/state/goose/logs/llm/2025-10-01/x.jsonl":      "{}",
		h + ".local/state/goose/logs/llm/2025-10-01/x.jsonl.lock": "no",
		h + ".local/state/goose/logs/llm/latest/x.jsonl":          "no",
		h + ".local/state/goose/logs/cli/2025-10-01/x.jsonl":      "no",
		h + ".local/state/goose/history.txt":                      "#V2",
		h + ".local/state/goose/roaming_directory.json":           "{}",
		h + ".config/goose/history.txt":                           "old",
		h + ".config/goose/sessions/b.jsonl":                      "{}",
		h + ".config/goose/permission.yaml":                       "u:",
		h + ".config/goose/permission.yaml.lock":                  "",
		h + ".config/goose/permissions/tool_permissions.json":     "{}",
		h + ".config/goose/roaming_trust.json":                    "{}",
		h + ".config/goose/roaming_trust.json.tmp-12":             "{}",
		h + ".config/goose/config.yaml":                           "secret",
		h + ".config/Goose/history.txt":                           "electron",
	})
	o := openAll(t, Options{}, root)
	want := []string{
		"linux-01 alice /home/alice xdg",
		"  sessions_db .local/share/goose/sessions/backup.db not_read",
		"  sessions_db .local/share/goose/sessions/sessions.db read wal=3 journal=2",
		"  legacy_jsonl .config/goose/sessions/b.jsonl read",
		"  legacy_jsonl .local/share/goose/sessions/a.jsonl read",
		"  llm_request_log .local/state/goose/logs/llm/2025-10-01/x.jsonl read",
		"  llm_request_log .local/state/goose/logs/llm_request.0.jsonl read",
		"  llm_request_log .local/state/goose/logs/llm_request.x-y.jsonl empty",
		"  cli_history .config/goose/history.txt read",
		"  cli_history .local/state/goose/history.txt read",
		"  permission_yaml .config/goose/permission.yaml read",
		"  tool_permissions_json .config/goose/permissions/tool_permissions.json read",
		"  roaming_trust .config/goose/roaming_trust.json read",
		"  roaming_directory .local/state/goose/roaming_directory.json read",
		"  schedule_json .local/share/goose/schedule.json read",
		"  schedule_json .local/share/goose/schedules.json read",
		"   .local/share/goose/projects.json not_read",
	}
	if d := cmp.Diff(want, show(o.Homes...)); d != "" {
		t.Fatal(d)
	}
	home := o.Homes[0]
	if home.ID != "linux_01-alice-38de7b07" || home.Kind != Tree || home.Input != root || home.Inferred || !home.NewestMTime.Equal(testTime) {
		t.Errorf("%+v", home)
	}
	db := home.Files[1]
	db.WAL, db.Journal = nil, nil
	wantDB := File{
		Store: SessionsDB, Path: "/home/alice/.local/share/goose/sessions/sessions.db", Rel: ".local/share/goose/sessions/sessions.db",
		Local:  filepath.Join(root, h, ".local/share/goose/sessions/sessions.db"),
		Status: Read, Size: 2, MTime: testTime, Evidence: true,
	}
	if d := cmp.Diff(wantDB, db); d != "" {
		t.Error(d)
	}
}

func TestEveryLayoutOfOneHome(t *testing.T) {
	const h = "home/eve/"
	root := filepath.Join(t.TempDir(), "box")
	plant(t, root, map[string]string{
		h + ".config/goose/permission.yaml":                              "x",
		h + "AppData/Roaming/Block/goose/data/history.txt":               "x",
		h + "AppData/Roaming/Block/goose/data/logs/llm_request.0.jsonl":  "x",
		h + "AppData/Roaming/Block/goose/config/history.txt":             "x",
		h + "Library/Application Support/Block/goose/history.txt":        "x",
		h + "Library/Application Support/Block/goose/sessions/a.jsonl":   "x",
		h + "Library/Application Support/Block/goose/data/schedule.json": "no",
		h + "state/history.txt":                                          "x",
	})
	want := []string{
		"box eve /home/eve xdg+windows+macos_library+path_root",
		"  legacy_jsonl Library/Application Support/Block/goose/sessions/a.jsonl read",
		"  llm_request_log AppData/Roaming/Block/goose/data/logs/llm_request.0.jsonl read",
		"  cli_history AppData/Roaming/Block/goose/config/history.txt read",
		"  cli_history AppData/Roaming/Block/goose/data/history.txt read",
		"  cli_history Library/Application Support/Block/goose/history.txt read",
		"  cli_history state/history.txt read",
		"  permission_yaml .config/goose/permission.yaml read",
	}
	if d := cmp.Diff(want, show(openAll(t, Options{}, root).Homes...)); d != "" {
		t.Error(d)
	}
}

func TestPathRootMarkers(t *testing.T) {
	for _, tc := range []struct {
		file string
		want bool
	}{
		{"data/sessions/sessions.db", true},
		{"data/sessions/x.jsonl", true},
		{"state/logs/llm_request.0.jsonl", true},
		{"state/history.txt", true},
		{"data/schedule.json", true},
		{"config/permission.yaml", true},
		{"config/roaming_trust.json", true},
		{"data/sessions/sessions.db-wal", false},
		{"data/sessions/other.db", false},
		{"data/schedules.json", false},
		{"data/projects.json", false},
		{"state/logs/llm_request.jsonl", false},
		{"state/roaming_directory.json", false},
		{"config/history.txt", false},
		{"config/sessions/x.jsonl", false},
		{"config/config.yaml", false},
		{"config/permissions/tool_permissions.json", false},
	} {
		root := t.TempDir()
		plant(t, root, map[string]string{"box/home/a/gr/" + tc.file: "x"})
		for kind, input := range map[string]string{
			"dir": root, "tar": save(t, "box.tar", makeTar(t, []tarEntry{{Name: "box/home/a/gr/" + tc.file, Body: "x"}})),
		} {
			homes := openAll(t, Options{}, input).Homes
			if got := len(homes) == 1; got != tc.want {
				t.Errorf("%s in a %s: a home: %v, want %v", tc.file, kind, got, tc.want)
			}
		}
	}
	for _, inside := range []string{
		".local/share/goose", ".local/state/goose/x", ".config/goose", "AppData/Roaming/Block/goose", "Library/Application Support/Block/goose/y/z",
	} {
		root := t.TempDir()
		plant(t, root, map[string]string{"h/" + inside + "/data/schedule.json": "[]"})
		for _, h := range openAll(t, Options{}, root).Homes {
			if strings.Contains(strings.Join(show(h), "\n"), "path_root") {
				t.Errorf("%s holds a path_root: %v", inside, show(h))
			}
		}
		// The input itself may lie in there.
		if o := openAll(t, Options{}, filepath.Join(root, "h", filepath.FromSlash(inside))); len(o.Homes) != 0 {
			t.Errorf("%s as an input: %v", inside, show(o.Homes...))
		}
	}
}

func TestNestedHomes(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{
		"box/home/alice/.config/goose/history.txt":                                    "x",
		"box/home/alice/work/gr/state/history.txt":                                    "x",
		"box/home/alice/chroot/home/bob/.config/goose/history.txt":                    "x",
		"box/home/alice/.config/goose/gateway/telegram/1/.config/goose/history.txt":   "x",
		"box/home/alice/chroot/home/bob/gr2/config/permission.yaml":                   "x",
		"box/home/alice/shared/.config/goose/permission.yaml":                         "->../../../.config/goose/history.txt",
		"box/home/alice/.local/state/goose/logs":                                      "->../../../lab/.local/state/goose/logs",
		"box/home/alice/lab/.local/state/goose/logs/llm_request.0.jsonl":              "x",
		"box/home/alice/lab/.local/state/goose/logs/deeper/not/llm_request.1.jsonl":   "x",
		"box/home/alice/lab/.local/state/goose/logs/llm/20250101/llm_request.2.jsonl": "x",
	})
	want := []string{
		"box alice /home/alice xdg",
		"  cli_history .config/goose/history.txt read",
		"box alice /home/alice/.config/goose/gateway/telegram/1 xdg",
		"  cli_history .config/goose/history.txt read",
		"chroot bob /home/bob xdg",
		"  cli_history .config/goose/history.txt read",
		"box alice /home/alice/chroot/home/bob/gr2 path_root",
		"  permission_yaml config/permission.yaml read",
		"box alice /home/alice/lab xdg",
		"  llm_request_log .local/state/goose/logs/llm/20250101/llm_request.2.jsonl read",
		"  llm_request_log .local/state/goose/logs/llm_request.0.jsonl read",
		"box alice /home/alice/shared xdg",
		"  permission_yaml .config/goose/permission.yaml unreadable (symlink)",
		"box alice /home/alice/work/gr path_root",
		"  cli_history state/history.txt read",
	}
	if d := cmp.Diff(want, show(openAll(t, Options{}, root).Homes...)); d != "" {
		t.Error(d)
	}
}

func TestLinks(t *testing.T) {
	const h = "home/alice/"
	root := t.TempDir()
	outside := filepath.Join(t.TempDir(), "x.jsonl")
	must(t, os.WriteFile(outside, []byte("{}"), 0o600))
	plant(t, root, map[string]string{
		h + "real/history":                                "x",
		h + "real/s/a.jsonl":                              "x",
		h + "other/p.yaml":                                "x",
		h + ".local/state/goose/history.txt":              "->../../../real/history",
		h + ".config/goose/permission.yaml":               "->/home/alice/other/p.yaml",
		h + ".config/goose/roaming_trust.json":            "->" + outside,
		h + ".config/goose/history.txt":                   "->secrets.yaml",
		h + ".config/goose/secrets.yaml":                  "secret",
		h + ".config/goose/sessions":                      "->tls",
		h + ".config/goose/tls/key.jsonl":                 "secret",
		h + ".config/goose/permissions":                   "->/etc",
		h + ".local/share/goose/sessions":                 "->../../../real/s",
		h + ".local/share/goose/schedule.json":            "->schedules.json",
		h + ".local/share/goose/schedules.json":           "->schedule.json",
		h + ".local/state/goose/logs/llm_request.0.jsonl": "->gone",
		h + ".local/state/goose/logs/llm_request.1.jsonl": "->.",
		h + ".local/state/goose/logs/loop":                "->../logs",
		h + ".local/state/goose/roaming_directory.json":   "->../../../../bob/rd",
		"home/bob/rd": "x",
	})
	want := []string{
		filepath.Base(root) + " alice /home/alice xdg",
		"  legacy_jsonl .config/goose/sessions unreadable (symlink)",
		"  legacy_jsonl .local/share/goose/sessions/a.jsonl read",
		"  llm_request_log .local/state/goose/logs/llm_request.0.jsonl unreadable (symlink)",
		"  llm_request_log .local/state/goose/logs/llm_request.1.jsonl unreadable (a directory)",
		"  cli_history .config/goose/history.txt unreadable (symlink)",
		"  cli_history .local/state/goose/history.txt read",
		"  permission_yaml .config/goose/permission.yaml read",
		"  tool_permissions_json .config/goose/permissions unreadable (symlink)",
		"  roaming_trust .config/goose/roaming_trust.json unreadable (symlink)",
		"  roaming_directory .local/state/goose/roaming_directory.json unreadable (symlink)",
		"  schedule_json .local/share/goose/schedule.json unreadable (symlink)",
		"  schedule_json .local/share/goose/schedules.json unreadable (symlink)",
	}
	home := openAll(t, Options{}, root).Homes[0]
	if d := cmp.Diff(want, show(home)); d != "" {
		t.Error(d)
	}
	for _, f := range home.Files {
		if f.Status == Unreadable && f.Local != "" {
			t.Errorf("%s has a Local", f.Rel)
		}
		if f.Store == CLIHistory && f.Status == Read && f.Local != filepath.Join(root, h, "real/history") {
			t.Errorf("Local is %s, not where the link leads", f.Local)
		}
	}
}

func TestDatabaseAndCompanions(t *testing.T) {
	const s = "h/.local/share/goose/sessions/"
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"zero bytes", map[string]string{"sessions.db": ""}, []string{"empty"}},
		{"zero bytes beside an empty WAL", map[string]string{"sessions.db": "", "sessions.db-wal": ""}, []string{"empty wal=0"}},
		{"zero bytes beside a WAL", map[string]string{"sessions.db": "", "sessions.db-wal": "w"}, []string{"read wal=1"}},
		{"WAL alone", map[string]string{"sessions.db-wal": "w"}, []string{"missing (write-ahead log without its database) wal=1"}},
		{"journal alone", map[string]string{"sessions.db-journal": "w"}, []string{"missing (rollback journal without its database) journal=1"}},
		{"shm alone", map[string]string{"sessions.db-shm": "w"}, nil},
		{"directory", map[string]string{"sessions.db/": ""}, []string{"unreadable (a directory)"}},
		{"WAL that is a directory", map[string]string{"sessions.db": "d", "sessions.db-wal/": ""}, []string{"read (WAL: a directory) walmissing"}},
		{"WAL that leads away", map[string]string{"sessions.db": "d", "sessions.db-wal": "->/dev/null"}, []string{"read (WAL: symlink) walmissing"}},
		{"database that is a link", map[string]string{"sessions.db": "->../elsewhere/x.db", "../elsewhere/x.db": "d", "../elsewhere/x.db-wal": "ww", "sessions.db-wal": "w"}, []string{"read wal=2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			files := map[string]string{s + "/": ""}
			for name, body := range tc.files {
				files[s+name] = body
			}
			plant(t, root, files)
			home := openAll(t, Options{}, root).Homes[0]
			var want []string
			for _, w := range tc.want {
				want = append(want, "  sessions_db .local/share/goose/sessions/sessions.db "+w)
			}
			if d := cmp.Diff(want, showFiles(home)); d != "" {
				t.Error(d)
			}
		})
	}
}

// deniedTree is a tree in which some paths cannot be listed or opened: tests
// often run as root, whom no mode stops.
type deniedTree struct {
	homefs.Tree
	denied map[string]bool
}

func (d deniedTree) ReadDir(dir string) ([]homefs.Entry, error) {
	if d.denied[dir] {
		return nil, fs.ErrPermission
	}
	return d.Tree.ReadDir(dir)
}

func (d deniedTree) Probe(name string) (homefs.Info, error) {
	if d.denied[name] {
		return homefs.Info{}, fs.ErrPermission
	}
	return d.Tree.Probe(name)
}

func TestDenied(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{
		"box/home/a/.local/share/goose/sessions/x.jsonl": "x",
		"box/home/a/.local/share/goose/schedule.json":    "x",
		"box/home/a/.local/state/goose/history.txt":      "x",
		"box/home/a/.local/state/goose/logs/":            "",
		"box/home/a/private/x/":                          "",
		"box/lost/":                                      "",
	})
	tree := deniedTree{homefs.NewDisk(root), map[string]bool{
		"box/home/a/.local/share/goose/sessions":    true,
		"box/home/a/.local/state/goose/history.txt": true,
		"box/home/a/private":                        true,
		"box/lost":                                  true,
	}}
	s, err := (&surveyor{tree: tree}).walk(context.Background())
	must(t, err)
	src := treeSource{tree: tree, at: place{name: "in"}, input: "in"}
	homes, loose, err := src.homes(context.Background(), s)
	must(t, err)
	want := []string{
		"box a /home/a xdg",
		"  sessions_db .local/share/goose/sessions unreadable (permission denied)",
		"  legacy_jsonl .local/share/goose/sessions unreadable (permission denied)",
		"  cli_history .local/state/goose/history.txt unreadable (permission denied)",
		"  schedule_json .local/share/goose/schedule.json read",
		"  ! unreadable_directory /home/a/private",
		"  ! unreadable_directory /home/a/.local/share/goose/sessions",
	}
	if d := cmp.Diff(want, show(homes...)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"  ! unreadable_directory in/box/lost"}, showIssues(loose)); d != "" {
		t.Error(d)
	}
}

// openedTree records what is opened.
type openedTree struct {
	homefs.Tree
	mu     sync.Mutex
	opened []string
}

func (o *openedTree) Probe(name string) (homefs.Info, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.opened = append(o.opened, name)
	return o.Tree.Probe(name)
}

func TestCredentialsAreNotOpened(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{
		"h/.config/goose/history.txt":                   "x",
		"h/.config/goose/permission.yaml":               "->tls/server.key",
		"h/.config/goose/roaming_trust.json":            "->githubcopilot/github.com/info.json",
		"h/.local/share/goose/schedule.json":            "->../../../.config/goose/xai_oauth/tokens.json",
		"h/.local/state/goose/history.txt":              "->../../../.config/goose/Secrets.yaml",
		"h/.local/state/goose/roaming_directory.json":   "->../../../.config/goose/roaming_node_key",
		"h/.local/state/goose/logs/llm_request.0.jsonl": "->../../../../.config/goose/config.yaml",
		"h/.local/share/goose/sessions":                 "->../../../.config/goose/databricks/oauth",
	}
	for _, secret := range []string{
		"secrets.yaml", "Secrets.yaml", "config.yaml", "tls/server.key", "githubcopilot/github.com/info.json", "xai_oauth/tokens.json",
		"roaming_node_key", "databricks/oauth/a.jsonl", "chatgpt_codex/tokens.json", "kimicode/device_id",
	} {
		files["h/.config/goose/"+secret] = "secret"
	}
	plant(t, root, files)
	tree := &openedTree{Tree: homefs.NewDisk(root)}
	s, err := (&surveyor{tree: tree}).walk(context.Background())
	must(t, err)
	homes, _, err := (&treeSource{tree: tree}).homes(context.Background(), s)
	must(t, err)
	if d := cmp.Diff([]string{"h/.config/goose/history.txt"}, tree.opened); d != "" {
		t.Error(d)
	}
	for _, f := range homes[0].Files {
		if f.Status != Read && (f.Status != Unreadable || f.Note != noteSymlink) {
			t.Errorf("%+v", f)
		}
	}
}

func TestIdentify(t *testing.T) {
	xdg, win, root := []Layout{XDG}, []Layout{Windows}, []Layout{PathRoot}
	for _, tc := range []struct {
		abs, dir         string
		layouts          []Layout
		host, user, path string
		guessed          string
	}{
		{"/ev/fleet", "linux-01/home/alice", xdg, "linux-01", "alice", "/home/alice", ""},
		{"/ev/fleet", "home/alice", xdg, "fleet", "alice", "/home/alice", "h"},
		{"/ev/fleet", "mac/Users/bob", xdg, "mac", "bob", "/Users/bob", ""},
		{"/ev/fleet", "box/root", xdg, "box", "root", "/root", ""},
		{"/ev/fleet", "box/var/root", xdg, "box", "root", "/var/root", ""},
		{"/ev/fleet", "box/home/root", xdg, "box", "root", "/home/root", ""},
		{"/ev/fleet", "win/Users/carol", win, "win", "carol", `C:\Users\carol`, ""},
		{"/ev/fleet", "win/D/Users/carol", win, "win", "carol", `D:\Users\carol`, ""},
		{"/ev/fleet", "win/c/Users/carol/gr", root, "win", "carol", `C:\Users\carol\gr`, ""},
		{"/ev/fleet", "mac/Users/bob/x", []Layout{XDG, PathRoot}, "mac", "bob", "/Users/bob/x", ""},
		{"/ev/fleet", "box/home/alice", []Layout{XDG, Windows}, "box", "alice", "/home/alice", ""},
		{"/ev/fleet", "box/carol", win, "fleet", "carol", `C:\Users\carol`, "hu"},
		{"/ev/fleet", "box/dave", xdg, "fleet", "dave", "/box/dave", "hu"},
		{"/ev/fleet", ".", xdg, "fleet", "fleet", "/", "hu"},
		{"/ev/fleet", "box/home/alice/jail/home/bob", xdg, "jail", "bob", "/home/bob", ""},
		{"/ev/fleet", "box/home/alice/jail/home/bob", root, "box", "alice", "/home/alice/jail/home/bob", ""},
		{"/ev/fleet", "box/srv/gr", root, "fleet", "gr", "/box/srv/gr", "hu"},
		{"/ev/linux-01/home/alice", ".", xdg, "linux-01", "alice", "/home/alice", ""},
		{"/ev/linux-01/home/alice/deep", "er", root, "linux-01", "alice", "/home/alice/deep/er", ""},
		{"/ev/linux-01/home", "alice", xdg, "linux-01", "alice", "/home/alice", ""},
		{"/home/alice", ".", xdg, "alice", "alice", "/home/alice", "h"},
		{"/home/analyst/ev", "box/home/alice", xdg, "box", "alice", "/home/alice", ""},
		{"/ev/home", ".", xdg, "home", "home", "/", "hu"},
	} {
		at := place{name: filepath.Base(tc.abs), abs: homefs.Split(strings.TrimPrefix(tc.abs, "/"))}
		got := identify(at, tc.dir, tc.layouts)
		want := identity{tc.host, tc.user, tc.path, strings.Contains(tc.guessed, "h"), strings.Contains(tc.guessed, "u")}
		if got != want {
			t.Errorf("%s in %s (%v): got %+v, want %+v", tc.dir, tc.abs, tc.layouts, got, want)
		}
	}
}

func TestOverrides(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{"linux-01/home/alice/.config/goose/": "", "x/.config/goose/": ""})
	for _, tc := range []struct {
		opt  Options
		want []string
	}{
		{Options{}, []string{"linux-01 alice /home/alice xdg", filepath.Base(root) + " x /x xdg"}},
		{Options{Host: "H"}, []string{"H alice /home/alice xdg", "H x /x xdg"}},
		{Options{Host: "H", User: "U"}, []string{"H U /home/alice xdg", "H U /x xdg"}},
	} {
		homes := openAll(t, tc.opt, root).Homes
		if d := cmp.Diff(tc.want, show(homes...)); d != "" {
			t.Error(d)
		}
		if got, want := homes[1].Inferred, tc.opt.User == ""; got != want {
			t.Errorf("%+v: inferred is %v", tc.opt, got)
		}
		if h := homes[0]; h.ID != HomeID(h.Host, h.User, h.Path) {
			t.Error(h.ID)
		}
	}
}

func TestHomeID(t *testing.T) {
	long := strings.Repeat("é", 300)
	for _, tc := range []struct{ host, user, path, want string }{
		{"linux-01", "alice", "/home/alice", "linux_01-alice-38de7b07"},
		{"A.b_9", "jo se", "/", "A.b_9-jo_se-" + sha("A.b_9\x00/")[:8]},
		{"é", "\xff", "/", "_-_-" + sha("é\x00/")[:8]},
		{"", "", "", "_-_-" + sha("\x00")[:8]},
		{long, long, "/", strings.Repeat("_", maxIDPart) + "-" + strings.Repeat("_", maxIDPart) + "-" + sha(long + "\x00/")[:8]},
	} {
		if got := HomeID(tc.host, tc.user, tc.path); got != tc.want {
			t.Errorf("HomeID(%q, %q, %q) = %q, want %q", tc.host, tc.user, tc.path, got, tc.want)
		} else if len("home_id="+got) > 255 {
			t.Errorf("%d bytes", len(got))
		}
	}
}

func TestWalkStops(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{"a/b/c/": ""})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Open(ctx, []string{root}, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestWalkOrder(t *testing.T) {
	names := []string{".", "a", "a/b", "a/b/c", "a b", "a-b", "b"}
	for i, a := range names {
		for j, b := range names {
			got := comparePaths(a, b)
			if want := i - j; (got < 0) != (want < 0) || (got > 0) != (want > 0) {
				t.Errorf("comparePaths(%q, %q) = %d", a, b, got)
			}
		}
	}
}

// TestInputIsLeftAlone opens every kind of file and looks for any trace of it.
func TestInputIsLeftAlone(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{
		"h/.local/share/goose/sessions/sessions.db":     "d",
		"h/.local/share/goose/sessions/sessions.db-wal": "w",
		"h/.local/state/goose/history.txt":              "x",
	})
	trace := func() string {
		var b strings.Builder
		must(t, filepath.WalkDir(root, func(p string, _ fs.DirEntry, err error) error {
			must(t, err)
			fi, err := os.Lstat(p)
			must(t, err)
			b.WriteString(p + fi.ModTime().String() + fi.Mode().String() + "\n")
			return nil
		}))
		return b.String()
	}
	before := trace()
	openAll(t, Options{}, root)
	if d := cmp.Diff(before, trace()); d != "" {
		t.Error(d)
	}
}
