package extract

import (
	"testing"
	"time"
)

func TestClean(t *testing.T) {
	in, out := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	h := Home{
		Host: "h", User: "andr\xe9", Path: "/home/andr\xe9", Input: "ok", CollectedAt: time.Unix(5, 0),
		Files: []File{
			{Store: SessionsDB, Path: "/home/andr\xe9/a.db", MTime: in},
			{Store: CLIHistory, Path: "/home/x", MTime: in.Add(-time.Microsecond)},
			{Store: CLIHistory, Path: "/home/y", MTime: out.Add(-time.Microsecond)},
			{Store: CLIHistory, Path: "/home/z", MTime: out},
			{Store: CLIHistory, Path: "/home/none"},
		},
	}
	h.clean()
	if h.User != "andr\uFFFD" || h.Path != "/home/andr\uFFFD" || h.Files[0].Path != "/home/andr\uFFFD/a.db" || !h.CollectedAt.IsZero() {
		t.Errorf("%+v", h)
	}
	for i, want := range []bool{true, false, true, false, false} {
		if got := !h.Files[i].MTime.IsZero(); got != want {
			t.Errorf("mtime of %s kept: %v", h.Files[i].Path, got)
		}
	}
	if !h.NewestMTime.Equal(out.Add(-time.Microsecond)) {
		t.Errorf("newest %v", h.NewestMTime)
	}
	codes := map[string]int{}
	for _, is := range h.Issues {
		codes[is.Code]++
	}
	if codes["invalid_utf8"] != 3 || codes["bad_time"] != 3 {
		t.Errorf("issues %v", h.Issues)
	}
}
