//go:build unix

package sqlitero

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Evidence that cannot be written to, its directory included.
func TestOpenReadOnlyDirectory(t *testing.T) {
	ev := shell(t, walScript+".shell mkdir ev/plain && cp w.db ev/plain/x.db\n")
	if os.Getuid() != 0 {
		readOnly(t, ev)
		db := mustOpen(t, pathsOf(ev))
		if n := count(t, db, "count(*) FROM t"); n != 10 {
			t.Errorf("rows %d", n)
		}
		return
	}
	base, err := os.MkdirTemp("", "nobody")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	for _, step := range [][]string{{"cp", "-r", ev, base + "/ev"}, {"mkdir", base + "/scratch"}, {"chmod", "-R", "a=rX", base}, {"chmod", "777", base + "/scratch"}} {
		if out, err := exec.Command(step[0], step[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip(err)
	}
	bin := filepath.Join(base, "test")
	if err := os.WriteFile(bin, self, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin)
	cmd.Dir = base
	cmd.Env = []string{"SQLITERO_READ_AS_NOBODY=" + base, "TMPDIR=" + base + "/scratch"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "10 0 " {
		t.Errorf("%v: %s", err, out)
	}
}

func readOnly(t *testing.T, dir string) {
	t.Helper()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
}
