package homefs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	long := strings.Repeat("a/", maxName/2)
	for _, tc := range []struct{ name, want, err string }{
		{"a/b", "a/b", ""},
		{"./a//b/./c", "a/b/c", ""},
		{"./", ".", ""},
		{".", ".", ""},
		{"/a", "a", ""},
		{"///a", "a", ""},
		{"C:/Users/x", "C/Users/x", ""},
		{"CC:/Users/x", "CC:/Users/x", ""},
		{"..a/b..", "..a/b..", ""},
		{"..", "", "climbs"},
		{"a/../b", "", "climbs"},
		{"a/..", "", "climbs"},
		{"", "", "empty"},
		{"a\x00b", "", "NUL"},
		{long[:maxName], strings.TrimSuffix(long, "/"), ""},
		{long + "a", "", "too long"},
	} {
		got, err := Clean(tc.name)
		if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("Clean(%.40q) = %.40q, %v; want %.40q, %q", tc.name, got, err, tc.want, tc.err)
		}
	}
}

func TestCleanNeverLeaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOf(rapid.RuneFrom([]rune(`./\:Ca`))).Draw(t, "name")
		got, err := Clean(name)
		if err != nil {
			return
		}
		if !fs.ValidPath(got) {
			t.Fatalf("Clean(%q) = %q", name, got)
		}
	})
}

func TestMem(t *testing.T) {
	m := NewMem()
	put := func(name string, kind Kind, size int64) error { return m.Put(name, Info{Kind: kind, Size: size}, "") }
	for _, err := range []error{
		put("d/f", Regular, 1), put("d", Dir, 0), put("d/f", Regular, 2), put("d/e", Dir, 0), put(".", Dir, 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		put("d/f/x", Regular, 1), put("d", Regular, 1), put("d/f", Dir, 0), put(".", Regular, 0),
	} {
		if !errors.Is(err, ErrConflict) {
			t.Errorf("got %v, want ErrConflict", err)
		}
	}
	if info, err := m.Lstat("d/f"); err != nil || info.Size != 2 {
		t.Errorf("the last one does not count: %v, %v", info, err)
	}
	got, err := m.ReadDir("d")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Entry{{"e", Dir}, {"f", Regular}}, got); d != "" {
		t.Error(d)
	}
	if _, err := m.ReadDir("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestOverlay(t *testing.T) {
	over, under := NewMem(), NewMem()
	over.Put("d/a", Info{Kind: Regular, Size: 1}, "")
	under.Put("d/a", Info{Kind: Regular, Size: 2}, "")
	under.Put("d/b", Info{Kind: Regular, Size: 2}, "")
	under.Put("e/c", Info{Kind: Regular, Size: 2}, "")
	o := Overlay{Over: over, Under: under}
	for dir, want := range map[string][]Entry{
		".": {{"d", Dir}, {"e", Dir}},
		"d": {{"a", Regular}, {"b", Regular}},
		"e": {{"c", Regular}},
	} {
		got, err := o.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	for name, want := range map[string]int64{"d/a": 1, "d/b": 2} {
		if info, err := o.Lstat(name); err != nil || info.Size != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if _, err := o.ReadDir("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestResolve(t *testing.T) {
	m := NewMem()
	file := func(name string) { m.Put(name, Info{Kind: Regular}, "") }
	link := func(name, target string) { m.Put(name, Info{Kind: Link}, target) }
	file("home/a/f")
	file("etc/passwd")
	link("home/a/rel", "f")
	link("home/a/dir", "../a")
	link("home/a/here", ".")
	link("home/a/up", "../../etc/passwd")
	link("home/a/out", "../../../x")
	link("home/a/abs", "/root/home/a/f")
	link("home/a/other", "/elsewhere")
	link("home/a/loop1", "loop2")
	link("home/a/loop2", "loop1")
	link("home/a/nowhere", "nothing")
	absolute := func(target string) (string, bool) { return strings.CutPrefix(target, "/root/") }
	for _, tc := range []struct {
		name, want string
		err        error
	}{
		{"home/a/f", "home/a/f", nil},
		{"home/a/rel", "home/a/f", nil},
		{"home/a/dir", "home/a", nil},
		{"home/a/here", "home/a", nil},
		{"home/a/dir/dir/rel", "home/a/f", nil},
		{"home/a/up", "etc/passwd", nil},
		{"home/a/out", "", ErrOutside},
		{"home/a/abs", "home/a/f", nil},
		{"home/a/other", "", ErrOutside},
		{"home/a/loop1", "", ErrLoop},
		{"home/a/nowhere", "", fs.ErrNotExist},
		{".", ".", nil},
	} {
		got, info, err := Resolve(m, tc.name, absolute)
		if err == nil {
			if own, _ := m.Lstat(got); own.Kind != info.Kind || own.Kind == Link {
				t.Errorf("Resolve(%s) describes %v, not %v", tc.name, info, own)
			}
		}
		if got != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("Resolve(%s) = %q, %v; want %q, %v", tc.name, got, err, tc.want, tc.err)
		}
	}
}

func TestResolveLinkLimit(t *testing.T) {
	for _, n := range []int{maxLinks, maxLinks + 1} {
		m := NewMem()
		m.Put("0", Info{Kind: Regular}, "")
		for i := range n {
			m.Put(string(rune('0'+i+1)), Info{Kind: Link}, string(rune('0'+i)))
		}
		_, _, err := Resolve(m, string(rune('0'+n)), nil)
		if want := n > maxLinks; errors.Is(err, ErrLoop) != want {
			t.Errorf("%d links: %v", n, err)
		}
	}
}

func TestDisk(t *testing.T) {
	dir := t.TempDir()
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	os.Mkdir(filepath.Join(dir, "d"), 0o700)
	os.Symlink("f", filepath.Join(dir, "l"))
	os.Chtimes(filepath.Join(dir, "f"), when, when)
	d := NewDisk(dir)
	got, err := d.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Entry{{"d", Dir}, {"f", Regular}, {"l", Link}}, got); diff != "" {
		t.Error(diff)
	}
	info, err := d.Probe("f")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Info{Kind: Regular, Size: 3, MTime: when, Local: filepath.Join(dir, "f")}, info); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"l", "d"} {
		if _, err := d.Probe(name); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := d.Probe("x"); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want the cause alone", err)
	}
	if target, err := d.Readlink("l"); err != nil || target != "f" {
		t.Error(target, err)
	}
}

func TestOpenEvidenceIsReadOnly(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenEvidence(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("it can be written")
	}
}

func TestPaths(t *testing.T) {
	if Join() != "." || Join(".", "a") != "a" || Join("a", ".") != "a" {
		t.Error("Join")
	}
	if !Within(".", "a") || !Within("a", "a") || !Within("a", "a/b") || Within("a", "ab") {
		t.Error("Within")
	}
	if Below(".", "a") != "a" || Below("a", "a/b") != "b" || Below("a", "a") != "" {
		t.Error("Below")
	}
}
