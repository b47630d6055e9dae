//go:build unix

package warehouse

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
)

func TestModes(t *testing.T) {
	for _, umask := range []int{0, 0o277} {
		dir := filepath.Join(t.TempDir(), "a", "b")
		old := syscall.Umask(umask)
		w, err := Open(dir)
		if err == nil {
			err = w.RecordRun("r", 1)
		}
		var s *Stage
		if err == nil {
			s, err = w.Stage("h")
		}
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		s.Abort()
		syscall.Umask(0) // files of a careless writer
		s, m := stage(t, w, "h", version(1, "events"))
		syscall.Chmod(filepath.Join(s.Dir(), "events"), 0o755)
		syscall.Chmod(filepath.Join(s.Dir(), "events", "data.parquet"), 0o644)
		syscall.Umask(umask)
		err = s.Commit(m)
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		err = filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			want := fs.FileMode(0o600)
			if d.IsDir() {
				want = 0o700
			}
			if seen++; err == nil && info.Mode().Perm() != want {
				t.Errorf("umask %o: %s is %v, want %v", umask, path, info.Mode().Perm(), want)
			}
			return err
		})
		if err != nil || seen < 30 {
			t.Fatalf("saw %d entries: %v", seen, err)
		}
		w.Close()
	}
}
