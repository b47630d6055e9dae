package extract

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zip"
	"github.com/klauspost/compress/zstd"
)

var testTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// plant writes files below root: a content that starts with "->" makes a link,
// a name that ends in "/" a directory. Every file gets testTime.
func plant(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := files[name]
		local := filepath.Join(root, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(local), 0o700))
		target, isLink := strings.CutPrefix(content, "->")
		switch {
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(local, 0o700))
		case isLink:
			must(t, os.Symlink(target, local))
		default:
			must(t, os.WriteFile(local, []byte(content), 0o600))
			must(t, os.Chtimes(local, testTime, testTime))
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tarEntry is a member for makeTar; zero fields make a regular file of Body.
type tarEntry struct {
	Name, Body, Link string
	Type             byte
	Size             int64 // of the header, when not that of Body
}

func entriesOf(files map[string]string) []tarEntry {
	var list []tarEntry
	for _, name := range slices.Sorted(maps.Keys(files)) {
		list = append(list, tarEntry{Name: name, Body: files[name]})
	}
	return list
}

func makeTar(t *testing.T, entries []tarEntry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{
			Name: e.Name, Typeflag: cmp.Or(e.Type, byte(tar.TypeReg)), Linkname: e.Link, Mode: 0o644,
			ModTime: testTime, Size: int64(len(e.Body)),
		}
		must(t, w.WriteHeader(h))
		_, err := w.Write([]byte(e.Body))
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

func gz(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	must(t, err)
	must(t, w.Close())
	return b.Bytes()
}

func zst(t *testing.T, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	must(t, err)
	defer w.Close()
	return w.EncodeAll(data, nil)
}

func makeZip(t *testing.T, entries []tarEntry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.Name, Method: zip.Deflate, Modified: testTime}
		h.SetMode(0o644)
		if e.Type == tar.TypeSymlink {
			h.SetMode(fs.ModeSymlink | 0o777)
			e.Body = e.Link
		}
		f, err := w.CreateHeader(h)
		must(t, err)
		_, err = f.Write([]byte(e.Body))
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

// save writes an archive into a directory of its own and returns its path.
func save(t *testing.T, name string, data []byte) string {
	t.Helper()
	local := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(local, data, 0o600))
	return local
}

// openAll opens inputs and closes what was opened at the end of the test.
func openAll(t *testing.T, opt Options, inputs ...string) *Opened {
	t.Helper()
	if opt.Scratch == "" {
		opt.Scratch = filepath.Join(t.TempDir(), "scratch")
	}
	o, err := Open(context.Background(), inputs, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, o.Close()) })
	return o
}

// show gives a home in lines: who and where, then its files and issues.
func show(homes ...Home) []string {
	var lines []string
	for _, h := range homes {
		names := make([]string, len(h.Layouts))
		for i, l := range h.Layouts {
			names[i] = string(l)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %s", h.Host, h.User, h.Path, strings.Join(names, "+")))
		lines = append(lines, showFiles(h)...)
		lines = append(lines, showIssues(h.Issues)...)
	}
	return lines
}

func showFiles(h Home) []string {
	var lines []string
	for _, f := range h.Files {
		line := fmt.Sprintf("  %s %s %s", f.Store, f.Rel, f.Status)
		if f.Note != "" {
			line += " (" + f.Note + ")"
		}
		if f.WAL != nil {
			line += fmt.Sprintf(" wal=%d", f.WAL.Size)
		}
		if f.Journal != nil {
			line += fmt.Sprintf(" journal=%d", f.Journal.Size)
		}
		if f.WALMissing {
			line += " walmissing"
		}
		if f.Cut {
			line += " cut"
		}
		lines = append(lines, line)
	}
	return lines
}

func showIssues(issues []Issue) []string {
	var lines []string
	for _, is := range issues {
		line := "  ! " + is.Code
		if is.Path != "" {
			line += " " + is.Path
		}
		lines = append(lines, line)
	}
	return lines
}

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// fakeRow is a manifest line; zero fields are those of a collected file.
type fakeRow struct {
	User, Home, Path, ArchivePath, SHA256, Status, Error string
	Size                                                 int64
}

// fakeCollection gives the files of a collection: those in fs with their lines,
// then more lines.
func fakeCollection(host, home, user string, files map[string]string, more ...fakeRow) map[string]string {
	out := make(map[string]string)
	var rows []fakeRow
	for _, name := range slices.Sorted(maps.Keys(files)) {
		body := files[name]
		out["fs/"+name] = body
		path := "/" + name
		if drive, rest, ok := strings.Cut(name, "/"); ok && len(drive) == 1 {
			path = drive + `:\` + strings.ReplaceAll(rest, "/", `\`)
		}
		rows = append(rows, fakeRow{User: user, Home: home, Path: path, ArchivePath: "fs/" + name, SHA256: sha(body), Status: collected, Size: int64(len(body))})
	}
	var lines strings.Builder
	for _, r := range append(rows, more...) {
		line, _ := json.Marshal(map[string]any{
			"user": r.User, "home": r.Home, "path": r.Path, "archive_path": r.ArchivePath, "type": "file", "secret": true,
			"size": r.Size, "mtime": testTime.Unix() - 60, "sha256": r.SHA256, "status": r.Status, "error": r.Error, "target": "",
		})
		lines.Write(append(line, '\n'))
	}
	out["manifest.jsonl"] = lines.String()
	out["collection.json"] = fmt.Sprintf(`{"hostname": %q, "finished": "2026-03-04T06:00:00Z"}`, host)
	return out
}

// collectionTar packs a collection as the collector does: the manifest last.
func collectionTar(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var entries []tarEntry
	for _, e := range entriesOf(files) {
		if strings.HasPrefix(e.Name, "fs/") {
			entries = append(entries, tarEntry{Name: "./" + e.Name, Body: e.Body})
		}
	}
	for _, name := range []string{"manifest.jsonl", "collection.json"} {
		if body, ok := files[name]; ok {
			entries = append(entries, tarEntry{Name: "./" + name, Body: body})
		}
	}
	return makeTar(t, entries)
}
