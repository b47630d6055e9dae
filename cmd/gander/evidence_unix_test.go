//go:build unix

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gander/testdata/fixture"
)

// A user who may only read the evidence gets all of it, and nothing in it
// changes: databases with a WAL and without -shm on a read-only directory.
func TestReadOnlyEvidence(t *testing.T) {
	root := t.TempDir()
	evidence := filepath.Join(root, "evidence")
	if err := fixture.Build("../../testdata/homes", evidence); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(evidence, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Chmod(path, 0o444)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	_ = filepath.WalkDir(evidence, func(path string, d fs.DirEntry, _ error) error {
		if d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	for _, d := range dirs {
		if err := os.Chmod(d, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, d := range dirs {
			_ = os.Chmod(d, 0o755)
		}
	})
	before, err := state(evidence)
	if err != nil {
		t.Fatal(err)
	}

	work := filepath.Join(root, "work")
	if err := os.Mkdir(work, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := binary(t, "run", evidence, "-o", filepath.Join(work, "w"))
	if os.Geteuid() == 0 {
		// root may write anywhere: become somebody else, who can reach the
		// binary and the directories.
		const nobody = 65534
		if err := os.Chown(work, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		for dir := root; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		self, err := os.ReadFile(cmd.Path)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Path = filepath.Join(work, "gander")
		if err := os.WriteFile(cmd.Path, self, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd.Args[0] = cmd.Path
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		cmd.Env = append(os.Environ(), "HOME="+work, "TMPDIR="+work)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "4 homes") {
		t.Errorf("%s", out)
	}
	after, err := state(evidence)
	if err != nil || before != after {
		t.Errorf("the evidence changed: %v\nbefore\n%s\nafter\n%s", err, before, after)
	}
	// The warehouse is for its owner alone.
	err = filepath.WalkDir(filepath.Join(work, "w"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
