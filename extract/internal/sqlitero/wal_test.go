package sqlitero

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testWAL builds a log of the given frames: page number and size after commit.
func testWAL(order binary.ByteOrder, size int, frames ...[2]uint32) []byte {
	be := binary.BigEndian
	magic := uint32(walMagic)
	if order == binary.ByteOrder(be) {
		magic++
	}
	b := be.AppendUint32(nil, magic)
	for _, v := range []uint32{walVersion, uint32(size), 0, 0x01020304, 0x05060708} {
		b = be.AppendUint32(b, v)
	}
	s := checksum(order, [2]uint32{}, b)
	b = be.AppendUint32(be.AppendUint32(b, s[0]), s[1])
	for i, f := range frames {
		head := be.AppendUint32(be.AppendUint32(nil, f[0]), f[1])
		page := bytes.Repeat([]byte{byte(i + 1)}, size)
		s = checksum(order, checksum(order, s, head), page)
		b = append(append(b, head...), 1, 2, 3, 4, 5, 6, 7, 8)
		b = append(be.AppendUint32(be.AppendUint32(b, s[0]), s[1]), page...)
	}
	return b
}

func TestScanWAL(t *testing.T) {
	frames := [][2]uint32{{1, 0}, {2, 2}, {1, 0}, {3, 3}, {1, 0}}
	const frame = frameHeaderSize + 512
	at := func(n, offset int) int { return walHeaderSize + (n-1)*frame + offset }
	flip := func(at ...int) func([]byte) []byte {
		return func(b []byte) []byte {
			for _, i := range at {
				b[i] ^= 0x40
			}
			return b
		}
	}
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	older := func(n int) func([]byte) []byte { // the frame of another generation
		return flip(at(n, 8), at(n, 15))
	}
	type result struct {
		Frames, Committed int64
		Pages             uint32
		Page1             byte
		Damage            string
	}
	for _, c := range []struct {
		name string
		edit func([]byte) []byte
		want result
	}{
		{"sound", cut(walHeaderSize + 5*frame), result{5, 4, 3, 3, ""}},
		{"header alone", cut(walHeaderSize), result{}},
		{"no frame whole, no byte of it", cut(walHeaderSize + frame), result{1, 0, 0, 0, ""}},
		{"up to a commit", cut(walHeaderSize + 2*frame), result{2, 2, 2, 1, ""}},
		{"short header", cut(walHeaderSize - 1), result{Damage: "header cut off after 31 bytes"}},
		{"magic", flip(0), result{Damage: "header has magic 0x777f0682"}},
		{"page size", flip(11), result{Damage: "header has page size 576"}},
		{"header checksum", flip(30), result{Damage: "header has a wrong checksum"}},
		{"wrong page", flip(at(4, frame-1)), result{3, 2, 2, 1, "frame 4 has a wrong checksum"}},
		{"wrong page number, before a commit", flip(at(3, 3)), result{2, 2, 2, 1, "frame 3 has a wrong checksum"}},
		{"wrong page, and nothing committed behind", flip(at(5, 3)), result{4, 4, 3, 3, ""}},
		{"wrong frame checksum", flip(at(1, 16)), result{Damage: "frame 1 has a wrong checksum"}},
		{"one byte missing", cut(walHeaderSize + 5*frame - 1), result{4, 4, 3, 3, "frame 5 is cut off after 535 bytes"}},
		{"one byte of a frame", cut(at(5, 1)), result{4, 4, 3, 3, "frame 5 is cut off after 1 bytes"}},
		{"salts of a frame", cut(at(5, 16)), result{4, 4, 3, 3, "frame 5 is cut off after 16 bytes"}},
		{"rest is older", func(b []byte) []byte { return older(4)(older(5)(b)) }, result{3, 2, 2, 1, ""}},
		{"rest is older and cut", func(b []byte) []byte { return cut(at(5, 20))(older(4)(older(5)(b))) }, result{3, 2, 2, 1, ""}},
		{"one in between is older", older(4), result{3, 2, 2, 1, "frame 4 is overwritten, frame 5 is not"}},
	} {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			if c.name == "magic" && order == binary.ByteOrder(binary.BigEndian) {
				c.want.Damage = "header has magic 0x777f0683"
			}
			w, err := scanWAL(context.Background(), bytes.NewReader(c.edit(testWAL(order, 512, frames...))))
			if err != nil {
				t.Fatal(err)
			}
			got := result{w.Frames, w.Committed, w.Pages, 0, w.Damage}
			if w.Page1 != nil {
				got.Page1 = w.Page1[0]
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, %v:\n%s", c.name, order, diff)
			}
		}
	}
}

// SQLite and the scanner agree on what a log holds, wherever it is cut.
func TestScanWALAgreesWithSQLite(t *testing.T) {
	ev := shell(t, walScript)
	p := pathsOf(ev)
	whole, err := os.ReadFile(p.WAL)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n <= len(whole); n += 509 {
		dir := t.TempDir()
		main, err := os.ReadFile(p.Main)
		if err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{"x.db": main, "x.db-wal": whole[:n]} {
			if err := os.WriteFile(dir+"/"+name, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		w, err := ScanWAL(t.Context(), dir+"/x.db-wal")
		if err != nil {
			t.Fatal(err)
		}
		pages := "1"
		if w.Committed > 0 {
			pages = string(rune('0' + w.Pages))
		}
		if got := query(t, dir+"/x.db", "PRAGMA page_count"); got != pages {
			t.Errorf("cut at %d: SQLite sees %s pages, the scanner %+v", n, got, *w)
		}
	}
}

// A log that is restarted keeps the frames of before behind the new ones.
// A walk shows what the scan counts, then what is left of older generations.
func TestWalkWAL(t *testing.T) {
	frames := [][2]uint32{{1, 0}, {2, 2}, {1, 0}, {3, 3}, {4, 0}, {5, 4}}
	const size, frame = 512, frameHeaderSize + 512
	b := testWAL(binary.BigEndian, size, frames...)
	older := testWAL(binary.BigEndian, size, frames...)
	// The last three frames are of the generation before; their checksums go
	// on from one another.
	sum := [2]uint32{1, 2}
	for no := 4; no <= 6; no++ {
		f := older[walHeaderSize+(no-1)*frame:][:frame]
		f[8]--
		sum = checksum(binary.BigEndian, checksum(binary.BigEndian, sum, f[:8]), f[frameHeaderSize:])
		binary.BigEndian.PutUint32(f[16:], sum[0])
		binary.BigEndian.PutUint32(f[20:], sum[1])
	}
	b = append(b[:walHeaderSize+3*frame], older[walHeaderSize+3*frame:]...)
	b[walHeaderSize+5*frame+frameHeaderSize] ^= 1 // one byte of the last page
	type seen struct {
		No             int64
		Page, Commit   uint32
		Valid, Follows bool
		First          byte
	}
	var got []seen
	w, err := walkWAL(t.Context(), bytes.NewReader(b), func(f *Frame) error {
		got = append(got, seen{f.No, f.Page, f.Commit, f.Valid, f.Follows, f.Data[0]})
		return nil
	})
	if err != nil || w.Damage != "" || w.Committed != 2 {
		t.Fatalf("%v, %+v", err, w)
	}
	want := []seen{
		{1, 1, 0, true, false, 1}, {2, 2, 2, true, false, 2}, {3, 1, 0, true, false, 3},
		{4, 3, 3, false, false, 4}, {5, 4, 0, false, true, 5}, {6, 5, 4, false, false, 7},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	stop := errors.New("enough")
	for _, at := range []int64{2, 5} {
		_, err := walkWAL(t.Context(), bytes.NewReader(b), func(f *Frame) error {
			if f.No == at {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) {
			t.Errorf("frame %d: %v", at, err)
		}
	}
	if at := FrameOffset(3, size); b[at] != 3 {
		t.Errorf("frame 3 is not at %d", at)
	}
}

func TestScanWALRestarted(t *testing.T) {
	ev := shell(t, strings.Replace(walScript, keep, "PRAGMA wal_checkpoint(RESTART);\nUPDATE t SET v='x' WHERE id=3;\n"+keep, 1))
	p := pathsOf(ev)
	w, err := ScanWAL(t.Context(), p.WAL)
	if err != nil || w.Damage != "" {
		t.Fatal(w, err)
	}
	if held := (fileSize(t, p.WAL) - walHeaderSize) / int64(frameHeaderSize+w.PageSize); w.Frames >= held {
		t.Fatalf("nothing older in the log: %d frames of %d", w.Frames, held)
	}
	if n := count(t, mustOpen(t, p), "count(*) FROM t WHERE v='x'"); n != 1 {
		t.Errorf("rows %d", n)
	}
}

func FuzzScanWAL(f *testing.F) {
	f.Add(testWAL(binary.LittleEndian, 512, [2]uint32{1, 1}))
	f.Add(testWAL(binary.BigEndian, 1024, [2]uint32{2, 0}, [2]uint32{1, 2}))
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := scanWAL(context.Background(), bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if w.Committed > w.Frames || w.Committed == 0 && w.Page1 != nil ||
			w.Frames*int64(frameHeaderSize+w.PageSize) > int64(len(b)) {
			t.Fatalf("%+v", w)
		}
	})
}
