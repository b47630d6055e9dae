package extract

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"gander/schemas/fault"
)

func TestMixedDirectory(t *testing.T) {
	defer goleak.VerifyNone(t)
	tarOf := func(name string) string {
		return string(gz(t, makeTar(t, []tarEntry{{Name: "home/" + name + "/.config/goose/history.txt", Body: "x"}})))
	}
	root := filepath.Join(t.TempDir(), "mixed")
	files := map[string]string{
		"tree/home/alice/.config/goose/history.txt": "x",
		"tree/home/alice/backup.tar.gz":             tarOf("never"),
		"tree/home/alice/sub/backup.tar.gz":         tarOf("never"),
		"one.tgz":                                   tarOf("bob"),
		"deep/er/no-suffix":                         tarOf("carol"),
		"deep/outer.tar":                            string(makeTar(t, []tarEntry{{Name: "inner.tar.gz", Body: tarOf("never")}, {Name: "home/dave/.config/goose/", Type: tar.TypeDir}})),
		"notes.txt":                                 "nothing",
		"broken.zip":                                "PK\x03\x04 and nothing more",
		"report.docx":                               "PK\x03\x04 and nothing more",
		"text.gz":                                   string(gz(t, []byte("just text"))),
		"source.py":                                 tarOf("never"),
		"coll/x/fs/home/zoe/sub/backup.tar.gz":      tarOf("never"),
		"coll/x/fs/home/zoe/.config/goose/config.yaml": "secret",
	}
	for name, body := range fakeCollection("srv", "/home/zoe", "zoe", map[string]string{"home/zoe/.config/goose/history.txt": "x"}) {
		files["coll/x/"+name] = body
	}
	plant(t, root, files)
	o := openAll(t, Options{}, root)
	var got []string
	for _, h := range o.Homes {
		rel, err := filepath.Rel(filepath.Dir(root), h.Input)
		must(t, err)
		got = append(got, fmt.Sprintf("%s %s %s %s", rel, h.Kind, h.Host, h.User))
	}
	want := []string{
		"mixed tree tree alice",
		"mixed/coll/x collection srv zoe",
		"mixed/deep/er/no-suffix tree no-suffix carol",
		"mixed/deep/outer.tar tree outer dave",
		"mixed/one.tgz tree one bob",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"  ! archive_damaged " + filepath.Join(root, "broken.zip")}, showIssues(o.InputIssues)); d != "" {
		t.Error(d)
	}
	for range 5 {
		if d := cmp.Diff(show(o.Homes...), show(openAll(t, Options{}, root).Homes...)); d != "" {
			t.Fatal("another order: ", d)
		}
	}
}

func TestSupersede(t *testing.T) {
	tree := func(files ...string) string {
		root := filepath.Join(t.TempDir(), "in")
		for i, f := range files {
			plant(t, root, map[string]string{"srv/home/a/" + f: strings.Repeat("x", i+1)})
		}
		return root
	}
	age := func(root string, d time.Duration) string {
		must(t, filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Chtimes(p, testTime.Add(d), testTime.Add(d)))
		}))
		return root
	}
	const hist, trust, log0 = ".config/goose/history.txt", ".config/goose/roaming_trust.json", ".local/state/goose/logs/llm_request.0.jsonl"
	coll := save(t, "c.tar", collectionTar(t, fakeCollection("srv", "/home/a", "a", map[string]string{"home/a/" + hist: "x"})))
	old, same, young := tree(hist, trust, log0), tree(hist), age(tree(hist), time.Second)
	for _, tc := range []struct {
		inputs []string
		winner int
		lacks  [][]Store
	}{
		{[]string{old}, 0, nil},
		{[]string{old, same}, 1, [][]Store{{LLMRequestLog, RoamingTrust}}},
		{[]string{same, old}, 1, [][]Store{nil}},
		{[]string{young, old}, 0, [][]Store{{LLMRequestLog, RoamingTrust}}},
		{[]string{old, coll}, 1, [][]Store{{LLMRequestLog, RoamingTrust}}},
		{[]string{coll, old}, 0, [][]Store{{LLMRequestLog, RoamingTrust}}},
		{[]string{coll, age(tree(hist), 54*time.Minute)}, 1, [][]Store{nil}}, // finished 06:00:00, 05:06:07 + 54 min is later
		{[]string{old, same, young}, 2, [][]Store{{LLMRequestLog, RoamingTrust}, nil}},
	} {
		o := openAll(t, Options{}, tc.inputs...)
		if len(o.Homes) != 1 || o.Homes[0].Input != tc.inputs[tc.winner] || len(o.Superseded) != len(tc.inputs)-1 {
			t.Errorf("%v: %v %v", tc.inputs, o.Homes, o.Superseded)
			continue
		}
		var lacks [][]Store
		for _, s := range o.Superseded {
			lacks = append(lacks, s.LacksStores)
			if s.By != o.Homes[0].Input || s.Home.ID != o.Homes[0].ID {
				t.Errorf("%+v", s)
			}
		}
		if d := cmp.Diff(tc.lacks, lacks); d != "" {
			t.Errorf("%v: %s", tc.inputs, d)
		}
		codes := 0
		for _, is := range o.Homes[0].Issues {
			if is.Code == "home_superseded" {
				codes++
			}
		}
		if codes != len(tc.inputs)-1 {
			t.Error(o.Homes[0].Issues)
		}
	}
}

func TestBadInputs(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	must(t, os.WriteFile(text, []byte(strings.Repeat("text ", 500)), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	for _, inputs := range [][]string{
		nil, {filepath.Join(dir, "gone")}, {text}, {filepath.Join(dir, "empty")},
		{filepath.Join(dir, "dangling")}, {dir, text}, {text + "/below"},
	} {
		for name, f := range map[string]func(context.Context, []string, Options) (*Opened, error){"Open": Open, "List": List} {
			_, err := f(context.Background(), inputs, Options{Scratch: t.TempDir()})
			if err == nil || fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
				t.Errorf("%s(%v): %v", name, inputs, err)
			}
		}
	}
	// Inputs that are links are followed.
	must(t, os.Symlink(save(t, "x", makeTar(t, []tarEntry{{Name: "a"}})), filepath.Join(dir, "link")))
	openAll(t, Options{}, filepath.Join(dir, "link"))
	// An empty archive is one.
	openAll(t, Options{}, save(t, "x", gz(t, makeTar(t, nil))))
}

func TestOverlap(t *testing.T) {
	base := t.TempDir()
	plant(t, base, map[string]string{
		"ev/home/a/.config/goose/history.txt": "x",
		"ev2/x":                               "x",
		"toev":                                "->ev",
		"toev-later":                          "->ev/later/warehouse",
		"out/":                                "",
	})
	must(t, os.WriteFile(filepath.Join(base, "out", "in.tar"), makeTar(t, nil), 0o600))
	at := func(p string) string { return filepath.Join(base, filepath.FromSlash(p)) }
	for _, tc := range []struct {
		input, out string
		refused    bool
	}{
		{"ev", "wh", false},
		{"ev", "ev2/wh", false},
		{"ev", "ev", true},
		{"ev", "ev/not/yet/there", true},
		{"ev", "toev/not/yet", true},
		{"ev", "toev-later", true},
		{"toev", "ev/wh", true},
		{"ev/home", "ev", true},
		{"ev/home", "ev/../ev", true},
		{"ev", "out/../ev2/wh", false},
		{"out/in.tar", "out/wh", false},
		{"out/in.tar", "out", true},
	} {
		for what, opt := range map[string]Options{"warehouse": {Warehouse: at(tc.out), Scratch: t.TempDir()}, "scratch": {Scratch: at(tc.out)}} {
			o, err := Open(context.Background(), []string{at(tc.input)}, opt)
			if refused := err != nil; refused != tc.refused || refused && fault.KindOf(err) != fault.Usage {
				t.Errorf("input %s, %s %s: %v", tc.input, what, tc.out, err)
			}
			o.Close()
		}
		if o, err := List(context.Background(), []string{at(tc.input)}, Options{Warehouse: at(tc.out)}); err != nil {
			t.Errorf("List writes nothing and refused %s: %v", tc.input, err)
		} else {
			o.Close()
		}
	}
}

func TestLive(t *testing.T) {
	defer goleak.VerifyNone(t)
	base := t.TempDir()
	base, err := filepath.EvalSymlinks(base)
	must(t, err)
	home := filepath.Join(base, "home", "me")
	plant(t, base, map[string]string{
		"home/me/.local/share/goose/sessions/sessions.db":                   "d",
		"home/me/.local/share/goose/sessions/sessions.db-wal":               "w",
		"home/me/.local/state/goose/history.txt":                            "x",
		"home/me/.config/goose/permission.yaml":                             "->../../../../etc/p.yaml",
		"home/me/x/goose/history.txt":                                       "x",
		"etc/p.yaml":                                                        "x",
		"data/goose/schedule.json":                                          "[]",
		"gr/data/schedule.json":                                             "[]",
		"gr/state/history.txt":                                              "x",
		"home/me/AppData/Roaming/Block/goose/data/logs/llm_request.0.jsonl": "x",
		"home/me/Library/Application Support/Block/goose/history.txt":       "x",
	})
	abs := func(p string) string { return filepath.Join(base, filepath.FromSlash(p)) }
	for _, tc := range []struct {
		name, os string
		env      map[string]string
		want     []string
	}{
		{"defaults", "linux", nil, []string{
			"box me " + home + " xdg",
			"  sessions_db .local/share/goose/sessions/sessions.db read wal=1",
			"  cli_history .local/state/goose/history.txt read",
			"  permission_yaml .config/goose/permission.yaml unreadable (symlink)",
		}},
		{"XDG", "linux", map[string]string{"XDG_DATA_HOME": abs("data"), "XDG_STATE_HOME": abs("home/me/x"), "XDG_CONFIG_HOME": "relative"}, []string{
			"box me " + home + " xdg",
			"  cli_history x/goose/history.txt read",
			"  permission_yaml .config/goose/permission.yaml unreadable (symlink)",
			"  schedule_json " + strings.TrimPrefix(abs("data/goose/schedule.json"), "/") + " read",
		}},
		{"GOOSE_PATH_ROOT", "linux", map[string]string{"GOOSE_PATH_ROOT": abs("gr") + "/", "XDG_DATA_HOME": abs("data")}, []string{
			"box me " + abs("gr") + " path_root",
			"  cli_history state/history.txt read",
			"  schedule_json data/schedule.json read",
		}},
		{"relative GOOSE_PATH_ROOT", "linux", map[string]string{"GOOSE_PATH_ROOT": "gr", "XDG_DATA_HOME": abs("none"), "XDG_STATE_HOME": abs("none"), "XDG_CONFIG_HOME": abs("none")}, []string{
			"box me " + home + " ",
		}},
		{"Windows", "windows", map[string]string{"APPDATA": abs("home/me/AppData/Roaming")}, []string{
			"box me " + home + " windows",
			"  llm_request_log AppData/Roaming/Block/goose/data/logs/llm_request.0.jsonl read",
		}},
		{"macOS", "darwin", map[string]string{"XDG_DATA_HOME": abs("none"), "XDG_CONFIG_HOME": abs("none")}, []string{
			"box me " + home + " xdg+macos_library",
			"  cli_history .local/state/goose/history.txt read",
			"  cli_history Library/Application Support/Block/goose/history.txt read",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opt := Options{Live: true, Warehouse: filepath.Join(home, "warehouse"), Machine: Machine{
				OS: tc.os, Host: "box", User: `DOMAIN\me`, Home: home, Now: testTime,
				Env: func(name string) string { return tc.env[name] },
			}}
			h := openAll(t, opt).Homes[0]
			if d := cmp.Diff(tc.want, show(h)); d != "" {
				t.Error(d)
			}
			if h.Kind != Live || h.Inferred || !h.CollectedAt.Equal(testTime) || h.ID != HomeID("box", "me", h.Path) {
				t.Errorf("%+v", h)
			}
			for _, f := range h.Files {
				if !f.Live || !f.Evidence || f.Path != f.Local && f.Status == Read {
					t.Errorf("%+v", f)
				}
			}
		})
	}
	opt := Options{Live: true, Host: "H", User: "U", Machine: Machine{OS: "linux", Home: home, Env: func(string) string { return "" }}}
	if h := openAll(t, opt).Homes[0]; h.Host != "H" || h.User != "U" {
		t.Errorf("%+v", h)
	}
	opt.Warehouse = filepath.Join(home, ".local/share/goose/warehouse")
	if _, err := Open(context.Background(), nil, opt); fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
}

func TestThisMachine(t *testing.T) {
	m := Machine{}.filled()
	if m.OS != runtime.GOOS || m.Env == nil || m.Now.IsZero() || m.Home == "" || m.User == "" || m.Host == "" {
		t.Errorf("%+v", m)
	}
}

func TestProgress(t *testing.T) {
	data := gz(t, makeTar(t, []tarEntry{{Name: aHome + ".config/goose/history.txt", Body: strings.Repeat("x", 1<<20)}}))
	local := save(t, "in.tar.gz", data)
	var calls atomic.Int64
	var last Progress
	openAll(t, Options{Progress: func(p Progress) { calls.Add(1); last = p }}, local)
	if want := (Progress{local, int64(len(data)), int64(len(data)), true}); last != want || calls.Load() < 2 {
		t.Errorf("%+v after %d calls, want %+v", last, calls.Load(), want)
	}
}

// TestStoresOfArchiveAndTree holds what the two ways of finding a file agree
// on: interestIn takes a path exactly when a home at its head lists it.
func TestStoresOfArchiveAndTree(t *testing.T) {
	var names []string
	for _, l := range layouts {
		for _, d := range []string{l.data, l.state, l.config} {
			for _, f := range []string{
				"sessions/sessions.db", "sessions/x.db", "sessions/x.jsonl", "schedule.json", "schedules.json", "projects.json",
				"logs/llm_request.1.jsonl", "logs/llm/2025-01-01/a.jsonl", "logs/llm/x/a.jsonl", "history.txt", "roaming_directory.json",
				"permission.yaml", "permissions/tool_permissions.json", "roaming_trust.json", "config.yaml", "secrets.yaml",
				"sessions/deep/x.jsonl", "tls/key.pem", "logs/cli/2025-01-01/a.jsonl",
			} {
				names = append(names, d+"/"+f)
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		root := t.TempDir()
		files := map[string]string{"h/" + name: "x"}
		// Each layout is there, so that only the file's place decides.
		for _, l := range layouts[:3] {
			files["h/"+l.config+"/none"] = ""
		}
		files["h/state/history.txt"] = "x"
		plant(t, root, maps.Clone(files))
		listed := false
		for _, f := range openAll(t, Options{}, root).Homes[0].Files {
			listed = listed || f.Rel == name
		}
		if taken := interestIn("h/"+name) > waypoint; taken != listed {
			t.Errorf("%s: listed in a tree: %v, taken from an archive: %v", name, listed, taken)
		}
	}
}

func BenchmarkOpenTree(b *testing.B) {
	root := b.TempDir()
	for i := range 1000 {
		for _, f := range []string{".local/share/goose/sessions/sessions.db", ".local/state/goose/history.txt", ".config/goose/permission.yaml"} {
			local := filepath.Join(root, fmt.Sprintf("h%d/home/u%d", i%50, i), f)
			os.MkdirAll(filepath.Dir(local), 0o700)
			os.WriteFile(local, []byte("x"), 0o600)
		}
	}
	for b.Loop() {
		if o, err := Open(context.Background(), []string{root}, Options{}); err != nil || len(o.Homes) != 1000 {
			b.Fatal(err)
		}
	}
}
