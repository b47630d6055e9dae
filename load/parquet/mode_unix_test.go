//go:build unix

package parquet

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"gander/schemas"
)

func TestModes(t *testing.T) {
	root := t.TempDir()
	for _, umask := range []int{0, 0o277} {
		dir := filepath.Join(root, "deep", string(rune('a'+umask&1)))
		old := syscall.Umask(umask)
		w := NewWriter(dir, Options{})
		write(t, memory.DefaultAllocator, w, schemas.Homes, row{"host": "h"})
		_, err := w.Close()
		if err == nil {
			err = WriteEmpty(filepath.Join(dir, "home_id=none"), schemas.Homes)
		}
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	err := filepath.WalkDir(filepath.Join(root, "deep"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if seen++; info.Mode().Perm() != want {
			t.Errorf("%s is %v, want %v", path, info.Mode().Perm(), want)
		}
		return err
	})
	if err != nil || seen < 10 {
		t.Fatalf("saw %d entries: %v", seen, err)
	}
}
