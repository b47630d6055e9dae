package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestReal compares what gander makes of homes that a real Goose wrote with
// the rows that an independent reading of the rules gives for them. They are
// not part of the repository: GANDER_REAL names the directory with
// expected.json, fleet-tree.tar.gz and collections/, GANDER_COMPARE the script.
func TestReal(t *testing.T) {
	dir := os.Getenv("GANDER_REAL")
	if dir == "" {
		dir = "../../../shared/real"
	}
	compare := os.Getenv("GANDER_COMPARE")
	if compare == "" {
		compare = filepath.Join(dir, "../reference/compare.py")
	}
	for _, need := range []string{dir, compare} {
		if _, err := os.Stat(need); err != nil {
			t.Skipf("NOT COMPARED with homes of the real Goose: %v (set GANDER_REAL and GANDER_COMPARE)", err)
		}
	}
	tree := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", filepath.Join(dir, "fleet-tree.tar.gz"), "-C", tree).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, input := range map[string]string{
		"tree": tree, "tree in an archive": filepath.Join(dir, "fleet-tree.tar.gz"), "collections": filepath.Join(dir, "collections"),
	} {
		t.Run(name, func(t *testing.T) {
			w := filepath.Join(t.TempDir(), "w")
			gander(t, "run", input, "-o", w)
			files := []string{}
			for _, relation := range []string{"timeline", "usage"} {
				file := filepath.Join(t.TempDir(), relation+".jsonl")
				gander(t, "export", relation, "-w", w, "--format", "jsonl", "-o", file)
				files = append(files, file)
			}
			out, err := exec.Command("python3", compare, filepath.Join(dir, "expected.json"), files[0], files[1]).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// gander runs a command in this process and returns its standard output.
func gander(t *testing.T, args ...string) string {
	t.Helper()
	var out, messages bytes.Buffer
	if code := execute(context.Background(), args, streams{bytes.NewReader(nil), &out, &messages}); code != exitOK {
		t.Fatalf("gander %q exits %d\n%s", args, code, messages.String())
	}
	return out.String()
}
