//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gander/testdata/fixture"
)

// Paths may be any bytes: the homes are read and the warehouse can be too.
func TestOddPaths(t *testing.T) {
	input := filepath.Join(t.TempDir(), "in put\n?#%")
	users := []string{"andr\xe9", "with space", "new\nline", "-dash", "percent%41", "quest?ion#", "\u202ebidi", strings.Repeat("long", 60)}
	for _, user := range users {
		if err := fixture.Build("../../testdata/homes/web-01/home/ben", filepath.Join(input, "host", "home", user)); err != nil {
			t.Fatal(err)
		}
	}
	// A name is enough: another database beside sessions.db is listed.
	if err := os.WriteFile(filepath.Join(input, "host/home/with space/.local/share/goose/sessions/b\xff.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := filepath.Join(t.TempDir(), "w")
	gander(t, "run", input, "-o", w)
	got := gander(t, "sql", "-w", w, "--format", "csv", `SELECT count(DISTINCT home_id) AS homes, count(*) FILTER (code = 'invalid_utf8') AS issues FROM homes LEFT JOIN issues USING (home_id)`)
	if got != "homes,issues\n8,4\n" {
		t.Errorf("%s", got)
	}
	if got := gander(t, "sql", "-w", w, "--format", "csv", `SELECT count(*) AS n FROM timeline WHERE "user" = 'andr`+"\uFFFD"+`'`); got != "n\n5\n" {
		t.Errorf("%s", got)
	}
}
