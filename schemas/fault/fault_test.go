package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestError(t *testing.T) {
	inner := &Error{Kind: Output, Op: "copy", Path: "/w/x", Err: fs.ErrPermission, Hint: "Free it."}
	err := fmt.Errorf("wrapped: %w", &Error{Kind: Source, Op: "read", Home: "h", Source: "sessions_db", Path: "a.db", Row: 7, Err: inner})
	if got := err.Error(); got != "wrapped: h: read: sessions_db: a.db:7: copy: /w/x: permission denied" {
		t.Errorf("Error() = %q", got)
	}
	if !errors.Is(err, fs.ErrPermission) {
		t.Error("the cause is lost")
	}
	if KindOf(err) != Source {
		t.Error("the outermost kind counts")
	}
	if HintOf(err) != "Free it." {
		t.Errorf("hint %q: the outermost there is counts", HintOf(err))
	}
	if KindOf(errors.New("x")) != Internal || HintOf(errors.New("x")) != "" || HintOf(nil) != "" {
		t.Error("an error of nobody is internal and has no hint")
	}
	if got := (&Error{Err: errors.New("x")}).Error(); got != "x" {
		t.Errorf("bare: %q", got)
	}
}
