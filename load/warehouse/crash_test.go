package warehouse

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type crash struct{ op, path string }

// crashAt gives a disk that stops the program before its n-th change, from 0.
func crashAt(n int) disk {
	return disk{volatile: true, before: func(op, path string) {
		if n == 0 {
			panic(crash{op, path})
		}
		n--
	}}
}

// crashes runs f and tells whether the disk stopped it.
func crashes(f func()) (at string, crashed bool) {
	defer func() {
		switch c := recover().(type) {
		case nil:
		case crash:
			at, crashed = c.op+" "+filepath.Base(filepath.Dir(c.path))+"/"+filepath.Base(c.path), true
		default:
			panic(c)
		}
	}()
	f()
	return "", false
}

func openVolatile(t *testing.T, dir string) *Warehouse {
	t.Helper()
	w, err := open(dir, disk{volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// die ends the use of a warehouse as a kill does: the lock goes, nothing else.
func die(w *Warehouse) { w.lock.Close() }

// setup gives a warehouse with a bystander and, when old is not nil, the home.
func setup(t *testing.T, old staged) (dir string, before map[string]string) {
	dir = t.TempDir()
	w := openVolatile(t, dir)
	commit(t, w, "bystander", version(1, "events", "usage"))
	if old != nil {
		commit(t, w, "home", old)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, content(t, dir)
}

func copied(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// commitCrashing commits the home and stops before the n-th change.
func commitCrashing(t *testing.T, dir string, v staged, n int) (at string, crashed bool) {
	w := openVolatile(t, dir)
	s, m := stage(t, w, "home", v)
	w.disk = crashAt(n)
	at, crashed = crashes(func() {
		if err := s.Commit(m); err != nil {
			t.Fatal(err)
		}
	})
	die(w)
	return at, crashed
}

// settled opens the warehouse after a crash and returns its content.
func settled(t *testing.T, dir string) map[string]string {
	t.Helper()
	w := openVolatile(t, dir)
	defer w.Close()
	for _, sub := range []string{commitDir, filepath.Base(w.Scratch())} {
		if entries, err := os.ReadDir(filepath.Join(dir, sub)); err != nil || len(entries) != 0 {
			t.Errorf("%s holds %v after Open: %v", sub, entries, err)
		}
	}
	homes, err := w.Homes()
	if err != nil {
		t.Error(err)
	}
	for _, m := range homes {
		for _, f := range m.Files {
			if info, err := os.Stat(filepath.Join(dir, f.Path)); err != nil || info.Size() != f.Bytes {
				t.Errorf("%s is not as its manifest says: %v", f.Path, err)
			}
		}
	}
	return content(t, dir)
}

// A crash before any change of a commit leaves, after the next Open, the old
// version or the new one, and the new one from the commit point on. A crash
// before any change of that Open is mended by the one after.
func TestCrashAnywhere(t *testing.T) {
	const unbounded = 1 << 20
	for name, old := range map[string]staged{
		"new home":      nil,
		"replaced home": version(1, "events", "sessions", "issues"),
	} {
		t.Run(name, func(t *testing.T) {
			next := version(2, "events", "messages")
			template, before := setup(t, old)
			dir := copied(t, template)
			if _, crashed := commitCrashing(t, dir, next, unbounded); crashed {
				t.Fatal("the commit has too many steps")
			}
			after := content(t, dir)
			if cmp.Equal(before, after) {
				t.Fatal("the two versions cannot be told apart")
			}

			committed, recovered := false, false
			for n := 0; ; n++ {
				dir := copied(t, template)
				at, crashed := commitCrashing(t, dir, next, n)
				if !crashed {
					if n < 15 {
						t.Errorf("only %d steps were tried", n)
					}
					break
				}
				pending := exists(filepath.Join(dir, commitDir, "home"))
				committed = committed || pending
				want := before
				if committed {
					want = after
				}
				if pending && !recovered { // crash in the recovery, too: the later states are among those it passes
					for k := 0; ; k++ {
						again := copied(t, dir)
						in, crashed := crashes(func() {
							w, err := open(again, crashAt(k))
							if err != nil {
								t.Fatal(err)
							}
							w.Close()
						})
						if diff := cmp.Diff(want, settled(t, again)); diff != "" {
							t.Fatalf("crash before %s, then before %s (-want +got):\n%s", at, in, diff)
						}
						if !crashed {
							break
						}
					}
					recovered = true
				}
				if diff := cmp.Diff(want, settled(t, dir)); diff != "" {
					t.Fatalf("crash before %s (-want +got):\n%s", at, diff)
				}
			}
			if !committed || !recovered {
				t.Error("no crash after the commit point was tried")
			}
		})
	}
}

// of is the part of a content that is a home's.
func of(content map[string]string, home string) map[string]string {
	part := map[string]string{}
	for name, body := range content {
		if strings.Contains(name, "home_id="+home+"/") || name == "homes/"+home+".json" {
			part[name] = body
		}
	}
	return part
}

// A crash before any change of a commit of two homes leaves each, after the
// next Open, wholly its old version or wholly the new one.
func TestCrashCommittingTwo(t *testing.T) {
	template, before := setup(t, version(1, "events", "sessions", "issues"))
	homes := []string{"home", "bystander"}
	next := map[string]staged{"home": version(2, "events", "messages"), "bystander": version(3, "sessions")}
	both := func(dir string, d disk) (at string, crashed bool) {
		w := openVolatile(t, dir)
		var commits []Commit
		for _, home := range homes {
			s, m := stage(t, w, home, next[home])
			commits = append(commits, Commit{s, m})
		}
		w.disk = d
		at, crashed = crashes(func() {
			if err := errors.Join(w.Commit(commits...)...); err != nil {
				t.Fatal(err)
			}
		})
		die(w)
		return at, crashed
	}
	dir := copied(t, template)
	if _, crashed := both(dir, crashAt(1<<20)); crashed {
		t.Fatal("the commit has too many steps")
	}
	after := content(t, dir)
	states := map[string]int{}
	for n := 0; ; n++ {
		dir := copied(t, template)
		at, crashed := both(dir, crashAt(n))
		got, state := settled(t, dir), ""
		for _, home := range homes {
			switch {
			case cmp.Equal(of(got, home), of(before, home)):
				state += "old "
			case cmp.Equal(of(got, home), of(after, home)):
				state += "new "
			default:
				t.Fatalf("crash before %s: %s is neither: %v", at, home, of(got, home))
			}
		}
		if states[state]++; !crashed {
			break
		}
	}
	// The homes pass the commit point one after the other.
	if states["old old "] == 0 || states["new old "] == 0 || states["new new "] == 0 || states["old new "] != 0 {
		t.Errorf("states after a crash: %v", states)
	}
}

// A crash while the warehouse is made leaves what the next Open completes.
func TestCrashInFirstOpen(t *testing.T) {
	var want map[string]string
	for n := 0; ; n++ {
		dir := filepath.Join(t.TempDir(), "a", "b")
		at, crashed := crashes(func() {
			w, err := open(dir, crashAt(n))
			if err != nil {
				t.Fatal(err)
			}
			die(w)
		})
		w, err := Open(dir)
		if err != nil {
			t.Fatalf("crash before %s: %v", at, err)
		}
		commit(t, w, "home", version(1, "events"))
		w.Close()
		got := content(t, dir)
		if want == nil {
			want = maps.Clone(got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("crash before %s (-want +got):\n%s", at, diff)
		}
		if !crashed {
			if n < 8 {
				t.Errorf("only %d steps were tried", n)
			}
			return
		}
	}
}
