package main

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gander/testdata/fixture"
)

var update = flag.Bool("update", false, "rewrite the expected output of testdata/cases")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gander": func() { os.Exit(Main()) }})
}

// TestCases runs the real binary on what testdata/cases says. Beside the
// commands of testscript a case has
//
//	homes DIR            makes the homes of testdata/homes in DIR
//	database FILE SQL    makes a database from a file of SQL
//	truncate FILE N      cuts a file to its first N bytes
//	state FILE DIR...    writes names, modes, mtimes and hashes of everything in the directories
func TestCases(t *testing.T) {
	homes, err := filepath.Abs("../../testdata/homes")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "../../testdata/cases",
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"homes": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(fixture.Build(homes, ts.MkAbs(args[0])))
			},
			"database": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(args[0])), 0o700))
				ts.Check(fixture.Database(ts.MkAbs(args[0]), ts.ReadFile(args[1])))
			},
			"truncate": func(ts *testscript.TestScript, _ bool, args []string) {
				n, err := strconv.ParseInt(args[1], 10, 64)
				ts.Check(err)
				ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
			},
			"state": func(ts *testscript.TestScript, _ bool, args []string) {
				text := ""
				for _, dir := range args[1:] {
					s, err := state(ts.MkAbs(dir))
					ts.Check(err)
					text += s
				}
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
			},
		},
	})
}

// state tells everything about a directory that a program could change.
func state(dir string) (string, error) {
	text := ""
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum := ""
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			h := sha256.Sum256(b)
			sum = hex.EncodeToString(h[:])
		}
		rel, err := filepath.Rel(dir, path)
		text += fmt.Sprintln(rel, info.Mode(), info.ModTime().UnixNano(), sum)
		return err
	})
	return text, err
}
