package extract

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gander/schemas/fault"
)

const aHome = "box/home/a/"

func TestTreeArchive(t *testing.T) {
	files := map[string]string{
		aHome + ".local/share/goose/sessions/sessions.db":     "db",
		aHome + ".local/share/goose/sessions/sessions.db-wal": "wal",
		aHome + ".local/share/goose/sessions/other.db":        "other",
		aHome + ".local/share/goose/projects.json":            "{}",
		aHome + ".local/state/goose/history.txt":              "",
		aHome + "inner.tar":                                   string(makeTar(t, []tarEntry{{Name: "home/z/.config/goose/history.txt"}})),
		"box/root/.config/goose/unrelated":                    "x",
	}
	want := []string{
		"box a /home/a xdg",
		"  sessions_db .local/share/goose/sessions/other.db not_read",
		"  sessions_db .local/share/goose/sessions/sessions.db read wal=3",
		"  cli_history .local/state/goose/history.txt empty",
		"   .local/share/goose/projects.json not_read",
		"box root /root xdg",
	}
	tarred := makeTar(t, entriesOf(files))
	for form, data := range map[string][]byte{
		"tar": tarred, "tar.gz": gz(t, tarred), "tar.zst": zst(t, tarred), "zip": makeZip(t, entriesOf(files)),
		"two gzip streams": append(gz(t, tarred[:1000]), gz(t, tarred[1000:])...),
	} {
		t.Run(form, func(t *testing.T) {
			input := save(t, "fleet", data)
			scratch := filepath.Join(t.TempDir(), "not", "yet")
			o := openAll(t, Options{Scratch: scratch}, input)
			if d := cmp.Diff(want, show(o.Homes...)); d != "" {
				t.Error(d)
			}
			f := o.Homes[0].Files[1]
			if f.SHA256 != sha("db") || f.Evidence || !f.MTime.Equal(testTime) || !strings.HasPrefix(f.Local, scratch) {
				t.Errorf("%+v", f)
			}
			count := 0
			must(t, filepath.WalkDir(scratch, func(p string, d fs.DirEntry, err error) error {
				must(t, err)
				fi, err := d.Info()
				must(t, err)
				if mode := map[bool]fs.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; fi.Mode().Perm() != mode {
					t.Errorf("%s has mode %v", p, fi.Mode())
				}
				if !d.IsDir() {
					count++
				}
				return nil
			}))
			if count != 3 {
				t.Errorf("%d files were unpacked, want the database, its log and the history", count)
			}
			must(t, o.Close())
			must(t, o.Close())
			if left, _ := os.ReadDir(scratch); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}

			listed, err := List(context.Background(), []string{input}, Options{Scratch: filepath.Join(scratch, "list")})
			must(t, err)
			if d := cmp.Diff(want, show(listed.Homes...)); d != "" {
				t.Error(d)
			}
			for _, f := range listed.Homes[0].Files {
				if f.Local != "" || f.Size < 0 {
					t.Errorf("%+v", f)
				}
			}
			if _, err := os.Stat(filepath.Join(scratch, "list")); !errors.Is(err, fs.ErrNotExist) {
				t.Error("List made a directory")
			}
		})
	}
}

func TestHostileMembers(t *testing.T) {
	const logs = aHome + ".local/state/goose/logs/llm_request."
	long := strings.Repeat("x/", 2100)
	evil := []tarEntry{
		{Name: aHome + ".config/goose/history.txt", Body: "good"},
		{Name: "../../../../tmp/evil/.config/goose/history.txt", Body: "evil"},
		{Name: aHome + "../../etc/.config/goose/history.txt", Body: "evil"},
		{Name: long + ".config/goose/history.txt", Body: "evil"},
		{Name: "/box/home/abs/.config/goose/history.txt", Body: "absolute"},
		{Name: "C:/Users/w/AppData/Roaming/Block/goose/data/history.txt", Body: "drive"},
		{Name: logs + "0.jsonl", Type: tar.TypeSymlink, Link: "/etc/passwd"},
		{Name: logs + "1.jsonl", Type: tar.TypeSymlink, Link: "../history.txt"},
		{Name: aHome + ".local/state/goose/history.txt", Body: "h"},
		{Name: logs + "2.jsonl", Type: tar.TypeFifo},
		{Name: logs + "3.jsonl", Type: tar.TypeChar},
		{Name: logs + "4.jsonl", Type: tar.TypeLink, Link: aHome + ".config/goose/history.txt"},
		{Name: logs + "5.jsonl", Type: tar.TypeLink, Link: "/etc/shadow"},
		{Name: logs + "6.jsonl/", Type: tar.TypeDir},
		{Name: logs + "7.jsonl", Body: "first"},
		{Name: logs + "7.jsonl", Body: "second"},
		{Name: aHome + ".config/goose/permission.yaml", Type: tar.TypeDir},
		{Name: aHome + ".config/goose/permission.yaml", Body: "file where a directory is"},
		{Name: aHome + ".config/goose/secrets.yaml", Body: "secret"},
		{Name: aHome + ".config/goose/tls/key.pem", Body: "secret"},
		{Name: aHome + ".config/goose/config.yaml", Body: "secret"},
		{Name: aHome + ".config/goose/roaming_trust.json", Type: tar.TypeSymlink, Link: "secrets.yaml"},
		{Name: "box/loop/.config", Type: tar.TypeSymlink, Link: "../loop/.config"},
		{Name: "__MACOSX/box/home/a/.config/goose/history.txt", Body: "attributes"},
	}
	scratch := t.TempDir()
	o := openAll(t, Options{Scratch: scratch}, save(t, "in.tar.gz", gz(t, makeTar(t, evil))))
	want := []string{
		`in w C:\Users\w windows`,
		"  cli_history AppData/Roaming/Block/goose/data/history.txt read",
		"  ! refused_member", "  ! refused_member", "  ! refused_member", "  ! refused_member", "  ! duplicate_member", "  ! refused_member",
		"box a /home/a xdg",
		"  llm_request_log .local/state/goose/logs/llm_request.0.jsonl unreadable (symlink)",
		"  llm_request_log .local/state/goose/logs/llm_request.2.jsonl unreadable (not a regular file)",
		"  llm_request_log .local/state/goose/logs/llm_request.3.jsonl unreadable (not a regular file)",
		"  llm_request_log .local/state/goose/logs/llm_request.4.jsonl read",
		"  llm_request_log .local/state/goose/logs/llm_request.5.jsonl unreadable (a hard link to a member that was not unpacked)",
		"  llm_request_log .local/state/goose/logs/llm_request.6.jsonl unreadable (a directory)",
		"  llm_request_log .local/state/goose/logs/llm_request.7.jsonl read",
		"  cli_history .config/goose/history.txt read",
		"  cli_history .local/state/goose/history.txt read",
		"  permission_yaml .config/goose/permission.yaml unreadable (a directory)",
		"  roaming_trust .config/goose/roaming_trust.json unreadable (symlink)",
		"box abs /home/abs xdg",
		"  cli_history .config/goose/history.txt read",
	}
	got := show(o.Homes...)
	for i := range got {
		if strings.HasPrefix(got[i], "  ! ") {
			got[i] = strings.Join(strings.Fields(got[i])[:2], " ")
			got[i] = "  " + got[i]
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	must(t, filepath.WalkDir(scratch, func(p string, d fs.DirEntry, err error) error {
		must(t, err)
		if !d.IsDir() {
			data, err := os.ReadFile(p)
			must(t, err)
			if bytes.Contains(data, []byte("secret")) || bytes.Contains(data, []byte("evil")) {
				t.Errorf("%s was unpacked", data)
			}
		}
		return nil
	}))
	for _, f := range o.Homes[1].Files {
		if strings.HasSuffix(f.Rel, "7.jsonl") && f.SHA256 != sha("second") {
			t.Error("the last of two does not count")
		}
	}
}

func TestZipLinksAndEncryption(t *testing.T) {
	data := makeZip(t, []tarEntry{
		{Name: aHome + ".config/goose/history.txt", Body: "x"},
		{Name: aHome + ".local/state/goose/history.txt", Type: tar.TypeSymlink, Link: "../../../.config/goose/history.txt"},
		{Name: aHome + ".config/goose/permission.yaml", Type: tar.TypeSymlink, Link: "/etc/passwd"},
		{Name: aHome + ".config/goose/roaming_trust.json", Body: "{}"},
	})
	// Set the encryption flag of the last member, in its header and in the directory.
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte("PK\x01\x02"))
		if i < 0 {
			break
		}
		at += i + 4
		if n := int(binary.LittleEndian.Uint16(data[at+24:])); strings.HasSuffix(string(data[at+42:at+42+n]), "roaming_trust.json") {
			data[at+4] |= 1
		}
	}
	home := openAll(t, Options{}, save(t, "in.zip", data)).Homes[0]
	want := []string{
		"box a /home/a xdg",
		"  cli_history .config/goose/history.txt read",
		"  permission_yaml .config/goose/permission.yaml unreadable (symlink)",
		"  roaming_trust .config/goose/roaming_trust.json unreadable (encrypted)",
	}
	got := show(home)
	if d := cmp.Diff(want, got[:len(want)]); d != "" || len(got) != len(want)+1 || home.Issues[0].Code != "refused_member" {
		t.Errorf("%s%v", d, home.Issues)
	}
}

func TestScratchBound(t *testing.T) {
	entries := func(sizes ...int) []tarEntry {
		var list []tarEntry
		for i, n := range sizes {
			list = append(list, tarEntry{Name: fmt.Sprintf(aHome+".local/state/goose/logs/llm_request.%d.jsonl", i), Body: strings.Repeat("x", n)})
		}
		return list
	}
	for _, tc := range []struct {
		limit int64
		sizes []int
		want  []Status
	}{
		{8192, []int{8192}, []Status{Read}},
		{8192, []int{8193}, []Status{Unreadable}},
		{8192, []int{1, 1, 1}, []Status{Read, Read, Unreadable}},
		{8192, []int{4097, 8193, 0}, []Status{Read, Unreadable, Empty}},
		{8192, []int{4096, 4097, 4096}, []Status{Read, Unreadable, Read}},
	} {
		for form, data := range map[string][]byte{"tar": makeTar(t, entries(tc.sizes...)), "zip": makeZip(t, entries(tc.sizes...))} {
			home := openAll(t, Options{MaxScratchBytes: tc.limit}, save(t, "in", data)).Homes[0]
			var got []Status
			refused := 0
			for _, f := range home.Files {
				got = append(got, f.Status)
				if f.Status == Unreadable {
					refused++
				}
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("%s %v in %d: %s", form, tc.sizes, tc.limit, d)
			}
			if len(home.Issues) != refused {
				t.Errorf("%s: %v", form, home.Issues)
			}
		}
	}
}

func TestZipThatLiesAboutSizes(t *testing.T) {
	data := makeZip(t, []tarEntry{{Name: aHome + ".config/goose/history.txt", Body: strings.Repeat("x", 100_000)}})
	i := bytes.Index(data, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(data[i+24:], 10)
	home := openAll(t, Options{MaxScratchBytes: 8192}, save(t, "in.zip", data)).Homes[0]
	if f := home.Files[0]; f.Size > 8192 || len(home.Issues) == 0 {
		t.Errorf("%+v %v", f, home.Issues)
	}
}

func TestDamagedArchives(t *testing.T) {
	noise := make([]byte, 20_000)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	whole := makeTar(t, []tarEntry{
		{Name: aHome + ".config/goose/history.txt", Body: "x"},
		{Name: aHome + ".local/share/goose/sessions/sessions.db", Body: string(noise)},
		{Name: aHome + ".local/share/goose/sessions/sessions.db-wal", Body: "wal"},
	})
	zipped := gz(t, whole)
	const afterDB = 1024 + 512 + 20480
	big := zst(t, makeTar(t, []tarEntry{
		{Name: aHome + ".config/goose/history.txt", Body: "x"},
		{Name: aHome + ".local/share/goose/sessions/sessions.db", Body: strings.Repeat(string(noise), 100)},
		{Name: aHome + ".local/state/goose/history.txt", Body: "x"},
	}))
	history := "  cli_history .config/goose/history.txt read"
	db := "  sessions_db .local/share/goose/sessions/sessions.db "
	for _, tc := range []struct {
		name string
		data []byte
		db   []string // nil: only that something is said
	}{
		{"within a file", whole[:1024+512+5000], []string{db + "read (the archive is damaged within the file: the last 15000 bytes are lost) cut"}},
		{"before a header", whole[:1024], []string{}},
		{"within a header", whole[:1024+100], []string{}},
		{"before the log", whole[:afterDB], []string{db + "read"}},
		{"before the end", whole[:afterDB+1024], []string{db + "read wal=3"}},
		{"broken header", append(append([]byte{}, whole[:1024]...), bytes.Repeat([]byte{'z'}, 2048)...), []string{}},
		{"gzip cut", zipped[:len(zipped)/2], nil},
		{"gzip without its checksum", zipped[:len(zipped)-4], []string{db + "read wal=3"}},
		{"zstd cut", big[:len(big)*9/10], nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := openAll(t, Options{}, save(t, "in.tar.gz", tc.data))
			if len(o.Homes) == 0 {
				if tc.db != nil || len(o.InputIssues) != 1 || o.InputIssues[0].Code != "archive_damaged" {
					t.Fatalf("%v", o.InputIssues)
				}
				return
			}
			h := o.Homes[0]
			if len(h.Issues) != 1 || h.Issues[0].Code != "archive_damaged" {
				t.Errorf("%v", h.Issues)
			}
			if tc.db != nil {
				if d := cmp.Diff(append(tc.db, history), showFiles(h)); d != "" {
					t.Error(d)
				}
			}
		})
	}

	t.Run("one lone block of zeros", func(t *testing.T) {
		o := openAll(t, Options{}, save(t, "in.tar", whole[:len(whole)-512]))
		if len(o.Homes[0].Issues) != 0 {
			t.Error(o.Homes[0].Issues)
		}
	})
	t.Run("zip member", func(t *testing.T) {
		data := makeZip(t, []tarEntry{
			{Name: aHome + ".config/goose/history.txt", Body: string(noise)},
			{Name: aHome + ".config/goose/permission.yaml", Body: "x"},
		})
		data[300] ^= 0xff
		h := openAll(t, Options{}, save(t, "in.zip", data)).Homes[0]
		if !h.Files[0].Cut || h.Files[1].Status != Read || h.Issues[0].Code != "archive_damaged" {
			t.Errorf("%v", show(h))
		}
	})
	t.Run("zip directory", func(t *testing.T) {
		data := makeZip(t, []tarEntry{{Name: aHome + ".config/goose/history.txt", Body: "x"}})
		local := save(t, "in.zip", data[:len(data)-10])
		if _, err := Open(context.Background(), []string{local}, Options{Scratch: t.TempDir()}); fault.KindOf(err) != fault.Usage {
			t.Error(err)
		}
		o := openAll(t, Options{}, filepath.Dir(local))
		if d := cmp.Diff([]string{"  ! archive_damaged " + local}, showIssues(o.InputIssues)); d != "" {
			t.Error(d)
		}
	})
	t.Run("collection without its end", func(t *testing.T) {
		data := collectionTar(t, fakeCollection("box", "/home/a", "a", map[string]string{"home/a/.config/goose/history.txt": "x"}))
		h := openAll(t, Options{}, save(t, "box_20261130T200000Z_agent-artifacts.tar", data[:1024])).Homes[0]
		if h.Kind != Collection || h.ID != HomeID("box", "a", "/home/a") || !h.Inferred {
			t.Errorf("%+v", h)
		}
	})
}

// TestAnyArchive feeds damaged archives: whatever is in them, nothing may be
// written outside of scratch and nothing may panic.
func TestAnyArchive(t *testing.T) {
	whole := makeTar(t, entriesOf(fakeCollection("box", "/home/a", "a", map[string]string{
		"home/a/.config/goose/history.txt": "x", "home/a/.local/share/goose/sessions/sessions.db": "y",
	})))
	forms := [][]byte{whole, gz(t, whole), zst(t, whole), makeZip(t, entriesOf(map[string]string{aHome + ".config/goose/history.txt": "x"}))}
	dir := t.TempDir()
	local := filepath.Join(dir, "in")
	rapid.Check(t, func(rt *rapid.T) {
		data := bytes.Clone(rapid.SampledFrom(forms).Draw(rt, "form"))
		for range rapid.IntRange(0, 4).Draw(rt, "flips") {
			data[rapid.IntRange(0, len(data)-1).Draw(rt, "at")] ^= rapid.Byte().Draw(rt, "flip")
		}
		data = data[:rapid.IntRange(0, len(data)).Draw(rt, "len")]
		must(t, os.WriteFile(local, data, 0o600))
		scratch := filepath.Join(dir, "scratch")
		o, err := Open(context.Background(), []string{local}, Options{Scratch: scratch, MaxScratchBytes: 1 << 20})
		if err != nil {
			if fault.KindOf(err) != fault.Usage {
				rt.Fatal(err)
			}
			return
		}
		for _, h := range o.Homes {
			for _, f := range h.Files {
				if f.Local != "" && !strings.HasPrefix(f.Local, scratch) {
					rt.Fatalf("%+v", f)
				}
			}
		}
		must(t, o.Close())
		if list, _ := os.ReadDir(dir); len(list) > 2 {
			rt.Fatalf("%v", list)
		}
	})
}

func TestArchiveStopsWithContext(t *testing.T) {
	local := save(t, "in.tar.gz", gz(t, makeTar(t, []tarEntry{
		{Name: aHome + ".config/goose/history.txt", Body: strings.Repeat("x", 64<<20)},
		{Name: "unrelated", Body: strings.Repeat("x", 64<<20)},
	})))
	ctx, cancel := context.WithCancel(context.Background())
	scratch := t.TempDir()
	start := time.Now()
	_, err := Open(ctx, []string{local}, Options{Scratch: scratch, Progress: func(Progress) { cancel() }})
	if !errors.Is(err, context.Canceled) || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	if left, _ := os.ReadDir(scratch); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestManyMembers(t *testing.T) {
	if testing.Short() {
		t.Skip("packs 100,000 members")
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range 100_000 {
		must(t, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("box/home/a/node_modules/%d/config/data/x.js", i), Typeflag: tar.TypeReg}))
	}
	must(t, w.WriteHeader(&tar.Header{Name: aHome + ".config/goose/history.txt", Typeflag: tar.TypeReg}))
	must(t, w.Close())
	if o := openAll(t, Options{}, save(t, "in.tar.gz", gz(t, b.Bytes()))); len(o.Homes) != 1 {
		t.Error(show(o.Homes...))
	}
}
