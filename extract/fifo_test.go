//go:build unix

package extract

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gander/schemas/fault"
)

func TestFifoDoesNotBlock(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{"h/.local/state/goose/": ""})
	must(t, syscall.Mkfifo(filepath.Join(root, "h/.local/state/goose/history.txt"), 0o600))
	must(t, syscall.Mkfifo(filepath.Join(root, "pipe.tar.gz"), 0o600))
	home := openAll(t, Options{}, root).Homes[0]
	want := []string{"  cli_history .local/state/goose/history.txt unreadable (not a regular file)"}
	if d := cmp.Diff(want, showFiles(home)); d != "" {
		t.Error(d)
	}
}

func TestFifoAsInput(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	must(t, syscall.Mkfifo(name, 0o600))
	if _, err := Open(context.Background(), []string{name}, Options{}); fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
}

func TestFileThatCannotBeOpened(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("nothing stops root")
	}
	root := t.TempDir()
	plant(t, root, map[string]string{"h/.config/goose/history.txt": "x"})
	must(t, os.Chmod(filepath.Join(root, "h/.config/goose/history.txt"), 0))
	home := openAll(t, Options{}, root).Homes[0]
	if d := cmp.Diff([]string{"  cli_history .config/goose/history.txt unreadable (permission denied)"}, showFiles(home)); d != "" {
		t.Error(d)
	}
}
