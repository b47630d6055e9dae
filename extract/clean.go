package extract

import (
	"strconv"
	"time"

	"gander/schemas/values"
)

// clean makes a home fit for columns: paths and names may be any bytes, and
// the times of files may be anything. What is replaced is an issue.
func (h *Home) clean() {
	text := func(s *string, store Store, what string) {
		if clean, ok := values.CleanUTF8(*s); !ok {
			*s = clean
			h.Issues = append(h.Issues, Issue{Store: store, Code: "invalid_utf8", Message: what + " is not UTF-8", Path: clean})
		}
	}
	moment := func(t *time.Time, f *File, what string) {
		if us := t.UnixMicro(); t.IsZero() || us >= values.MinMicros && us < values.MaxMicros {
			return
		}
		is := Issue{Code: "bad_time", Message: what + " is no time from 2000 to 2100: " + strconv.FormatInt(t.Unix(), 10) + " s"}
		if f != nil {
			is.Store, is.Path = f.Store, f.Path
		}
		*t = time.Time{}
		h.Issues = append(h.Issues, is)
	}
	text(&h.Host, "", "the host's name")
	text(&h.User, "", "the user's name")
	text(&h.Path, "", "the home's path")
	text(&h.Input, "", "the input's path")
	moment(&h.CollectedAt, nil, "the time of the collection")
	h.NewestMTime = time.Time{}
	for i := range h.Files {
		f := &h.Files[i]
		text(&f.Path, f.Store, "the file's path")
		f.Rel, _ = values.CleanUTF8(f.Rel)
		f.Note, _ = values.CleanUTF8(f.Note)
		moment(&f.MTime, f, "the file's mtime")
		if f.MTime.After(h.NewestMTime) {
			h.NewestMTime = f.MTime
		}
	}
	for i := range h.Issues {
		is := &h.Issues[i]
		is.Path, _ = values.CleanUTF8(is.Path)
		is.Message, _ = values.CleanUTF8(is.Message)
	}
}
