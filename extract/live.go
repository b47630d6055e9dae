package extract

import (
	"cmp"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"gander/extract/internal/homefs"
)

// Machine is what --live needs to know of the machine that it reads. Zero
// fields are filled in from this one.
type Machine struct {
	OS   string // as runtime.GOOS
	Host string
	User string
	Home string // absolute
	// Env looks up an environment variable, "" for one that is not set.
	Env func(name string) string
	// Now is the time at which the home counts as collected.
	Now time.Time
}

func (m Machine) filled() Machine {
	m.OS = cmp.Or(m.OS, runtime.GOOS)
	if m.Env == nil {
		m.Env = os.Getenv
	}
	if m.Now.IsZero() {
		m.Now = time.Now()
	}
	m.Now = m.Now.UTC()
	if m.Host == "" {
		m.Host, _ = os.Hostname()
	}
	if m.User == "" || m.Home == "" {
		// Goose goes by HOME where it is set, as its users do.
		home, _ := os.UserHomeDir()
		u, err := user.Current()
		if err == nil {
			m.User = cmp.Or(m.User, u.Username)
			home = cmp.Or(home, u.HomeDir)
		}
		m.User = cmp.Or(m.User, m.Env("USER"), m.Env("USERNAME"))
		m.Home = cmp.Or(m.Home, home)
	}
	m.User = m.User[strings.LastIndexByte(m.User, '\\')+1:] // DOMAIN\user
	return m
}

// liveDirs gives the directories in which Goose keeps its stores on a machine,
// as absolute paths: GOOSE_PATH_ROOT where it is absolute, else the system's
// own, where only absolute XDG variables count. home is the directory that
// stands for the home.
func (m Machine) liveDirs() (home string, dirs []layoutDirs) {
	if root := m.Env("GOOSE_PATH_ROOT"); filepath.IsAbs(root) {
		root = filepath.Clean(root)
		return root, []layoutDirs{{PathRoot, filepath.Join(root, "data"), filepath.Join(root, "state"), filepath.Join(root, "config")}}
	}
	home = filepath.Clean(m.Home)
	if m.OS == "windows" {
		base := m.Env("APPDATA")
		if base == "" {
			base = filepath.Join(home, "AppData", "Roaming")
		}
		base = filepath.Join(base, "Block", "goose")
		data := filepath.Join(base, "data")
		return home, []layoutDirs{{Windows, data, data, filepath.Join(base, "config")}}
	}
	xdg := func(name, fallback string) string {
		if dir := m.Env(name); filepath.IsAbs(dir) {
			return filepath.Join(dir, "goose")
		}
		return filepath.Join(home, filepath.FromSlash(fallback))
	}
	dirs = []layoutDirs{{
		XDG,
		xdg("XDG_DATA_HOME", ".local/share/goose"),
		xdg("XDG_STATE_HOME", ".local/state/goose"),
		xdg("XDG_CONFIG_HOME", ".config/goose"),
	}}
	if m.OS == "darwin" {
		library := filepath.Join(home, "Library", "Application Support", "Block", "goose")
		dirs = append(dirs, layoutDirs{MacOSLibrary, library, library, library})
	}
	return home, dirs
}

// liveHome describes this machine's own home. It is there even when Goose never
// ran; a layout is listed where one of its directories is there.
func liveHome(opt Options) Home {
	m := opt.Machine.filled()
	homeDir, dirs := m.liveDirs()
	volume := filepath.VolumeName(homeDir)
	root := volume + string(filepath.Separator)
	// inTree gives the path in the tree below root.
	inTree := func(p string) string {
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return "." // on another volume: nothing of Goose is found there
		}
		return filepath.ToSlash(rel)
	}
	h := Home{
		Host: cmp.Or(opt.Host, m.Host), User: cmp.Or(opt.User, m.User), Path: homeDir,
		Input: "live", Kind: Live, CollectedAt: m.Now,
	}
	h.ID = HomeID(h.Host, h.User, h.Path)
	home := inTree(homeDir)
	tree := homefs.NewDisk(root)
	l := &lister{tree: tree, dir: home}
	var bases []string
	for _, d := range dirs {
		d = layoutDirs{d.layout, inTree(d.data), inTree(d.state), inTree(d.config)}
		l.dirs = append(l.dirs, d)
		bases = append(bases, d.data, d.state, d.config)
		if slices.ContainsFunc([]string{d.data, d.state, d.config}, func(dir string) bool {
			_, err := tree.Lstat(dir)
			return err == nil
		}) {
			h.Layouts = append(h.Layouts, d.layout)
		}
	}
	// Where the user pointed Goose to is as good as the home: it may be reached
	// through links that the user made above it.
	var resolved []string
	for _, dir := range append(bases, home) {
		resolved = append(resolved, dir)
		if p, err := filepath.EvalSymlinks(tree.Path(dir)); err == nil && (dir == home || !homefs.Within(home, dir)) {
			resolved = append(resolved, inTree(p))
		}
	}
	l.within = func(name string) bool {
		return slices.ContainsFunc(resolved, func(dir string) bool { return homefs.Within(dir, name) })
	}
	l.rel = func(name string) string {
		if homefs.Within(home, name) {
			return homefs.Below(home, name)
		}
		return name
	}
	l.path = func(name string) string { return tree.Path(name) }
	l.absolute = func(target string) (string, bool) {
		if !filepath.IsAbs(target) || filepath.VolumeName(target) != volume {
			return "", false
		}
		return inTree(target), true
	}
	l.list()
	h.take(l, true)
	for i := range h.Files {
		h.Files[i].Live = true
	}
	return h
}
