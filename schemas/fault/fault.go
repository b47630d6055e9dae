// Package fault holds the one error type of gander. An Error tells what was
// being done to what, and what the user can do about it; its Kind decides
// whether a run goes on and how it exits.
package fault

import (
	"errors"
	"strconv"
	"strings"
)

// Kind is what an error means for the run.
type Kind uint8

const (
	// Source is a file or home that could not be read: the run goes on, exit 1.
	Source Kind = iota
	// Usage is a wrong flag or argument, or an input that cannot be opened: exit 2.
	Usage
	// Output is a warehouse that cannot be written or is not gander's: exit 3.
	Output
	// Internal is a broken invariant of gander itself, such as sums that do not
	// reconcile: the home is not committed, exit 1.
	Internal
)

// Error is an error of gander. Only Err is required.
type Error struct {
	Kind   Kind
	Op     string // what was being done: "open database"
	Home   string // home_id
	Source string // store
	Path   string // file concerned, as the user knows it
	Row    int64  // row or line; 0 when none
	Err    error
	Hint   string // what the user can do, a full sentence
}

// Error gives the whole story in one line, without the hint.
func (e *Error) Error() string {
	var b strings.Builder
	part := func(s string) {
		if s == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(s)
	}
	part(e.Home)
	part(e.Op)
	part(e.Source)
	if e.Path != "" && e.Row != 0 {
		part(e.Path + ":" + strconv.FormatInt(e.Row, 10))
	} else {
		part(e.Path)
	}
	if e.Err != nil {
		part(e.Err.Error())
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the outermost Error in err's chain, Internal when
// there is none: an error nobody classified is a bug.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// HintOf returns the outermost hint in err's chain, "" without one.
func HintOf(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}
