//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gander/testdata/fixture"
)

// largeHome makes a home that takes a while to read: its messages are in the
// WAL, so that it is copied too.
func largeHome(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile("../../testdata/homes/web-01/home/ada/.local/share/goose/sessions/sessions.db.sql")
	if err != nil {
		t.Fatal(err)
	}
	input := filepath.Join(t.TempDir(), "evidence")
	dir := filepath.Join(input, "home/ada/.local/share/goose/sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	many := `;WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 20000)
		INSERT INTO messages (session_id, role, content_json, created_timestamp)
		SELECT '20261005_1', 'user', '[{"type":"text","text":"' || hex(zeroblob(1500)) || '"}]', 1791187200 + i FROM n;`
	if err := fixture.Database(filepath.Join(dir, "sessions.db"), string(script)+many); err != nil {
		t.Fatal(err)
	}
	return input
}

// binary returns a command that runs this test binary as gander.
func binary(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "gander")
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	return exec.Command(name, args...)
}

// waitFor waits until a file matches pattern.
func waitFor(t *testing.T, pattern string) {
	t.Helper()
	for range 2000 {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("no %s after 10 s", pattern)
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// An interrupted run exits 130, leaves no scratch and no half home; a killed
// one leaves what the next run removes.
func TestInterruptedRun(t *testing.T) {
	input := largeHome(t)
	before, err := state(input)
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		w := filepath.Join(t.TempDir(), "w")
		cmd := binary(t, "run", input, "-o", w)
		var messages bytes.Buffer
		cmd.Stderr = &messages
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, filepath.Join(w, ".scratch-*", "*", "events", "*"))
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		scratch, _ := filepath.Glob(filepath.Join(w, ".scratch-*"))
		homes, _ := filepath.Glob(filepath.Join(w, "homes", "*"))
		if sig != syscall.SIGKILL {
			if code := exitCode(err); code != exitInterrupted || !strings.Contains(messages.String(), "interrupted") {
				t.Errorf("%v: exit %d, %s", sig, code, messages.String())
			}
			if len(scratch) != 0 {
				t.Errorf("%v: left %v", sig, scratch)
			}
		} else if len(scratch) == 0 {
			t.Errorf("%v: killed too late to leave scratch", sig)
		}
		if len(homes) != 0 {
			t.Errorf("%v: committed %v", sig, homes)
		}
		// The next run makes it good.
		if out, err := binary(t, "run", input, "-o", w).CombinedOutput(); err != nil {
			t.Fatalf("after %v: %v\n%s", sig, err, out)
		}
		if scratch, _ = filepath.Glob(filepath.Join(w, ".scratch-*")); len(scratch) != 0 {
			t.Errorf("the run after %v left %v", sig, scratch)
		}
		if got := gander(t, "sql", "-w", w, "--format", "csv", "SELECT count(*) AS n FROM messages"); got != "n\n20013\n" {
			t.Errorf("after %v: %s", sig, got)
		}
	}
	after, err := state(input)
	if err != nil || before != after {
		t.Errorf("the evidence changed: %v\nbefore\n%s\nafter\n%s", err, before, after)
	}
}
