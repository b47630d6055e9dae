package sqlitero

import (
	"cmp"
	"slices"
)

// Told remembers the rowids that a scan has passed on. Those of a sound table
// come in order and take next to nothing; a damaged one may hold a page twice
// or rows with wrong rowids, and only what is known exactly tells a row that
// comes again from one that comes late.
type Told struct {
	lists [][]run // each ascending; one begins with each rowid that is out of order
	runs  int
	high  int64 // the highest
	ahead []early
	sure  int64 // rowids up to it were passed on by another reader
	met   int64 // the last of them that came in pass metIn
	metIn int
}

// run is a range of rowids.
type run struct{ from, to int64 }

// early is a range of rowids that came before lower ones, in the n-th pass.
type early struct {
	run
	pass int
}

// Bounds of what is remembered: beyond, every rowid up to the highest counts as
// passed on, and what comes late is lost and reported.
const (
	maxRuns  = 1 << 20
	maxLists = 1 << 10
)

func (t *Told) full() bool { return t.runs >= maxRuns || len(t.lists) >= maxLists }

// has tells whether a rowid was passed on.
func (t *Told) has(id int64) bool {
	if len(t.lists) == 0 || id > t.high {
		return false
	}
	if t.full() {
		return true
	}
	return t.any(id, id)
}

// any tells whether one of the rowids from from to to was passed on.
func (t *Told) any(from, to int64) bool {
	return slices.ContainsFunc(t.lists, func(list []run) bool { return meets(list, from, to) })
}

// meets tells whether one of the rowids from from to to is in runs that ascend.
func meets(list []run, from, to int64) bool {
	i, _ := slices.BinarySearchFunc(list, from, func(r run, from int64) int { return cmp.Compare(r.to, from) })
	return i < len(list) && list[i].from <= to
}

// Add remembers a rowid, higher than all before, that another reader passed on.
func (t *Told) Add(id int64) {
	t.add(id, 0)
	t.sure = id
}

// add remembers a rowid that has not been passed on, in the n-th pass.
func (t *Told) add(id int64, pass int) {
	if len(t.lists) == 0 {
		t.high = id
	}
	t.high = max(t.high, id)
	if t.full() {
		return
	}
	if len(t.lists) > 0 {
		list := &t.lists[len(t.lists)-1]
		switch last := &(*list)[len(*list)-1]; {
		case last.to == id-1:
			last.to = id
			return
		case last.to < id:
			*list = append(*list, run{id, id})
			t.runs++
			return
		default:
			t.ahead = append(t.ahead, early{run{id, last.to}, pass})
		}
	}
	t.lists = append(t.lists, []run{{id, id}})
	t.runs++
}

// passed tells whether a rowid comes again only because its part of the table
// is gone over once more: another reader passed it on, which a pass meets once
// and in order, or an earlier pass met it early.
func (t *Told) passed(id int64, pass int) bool {
	if len(t.lists) > 0 && t.lists[0][0].from <= id && id <= t.sure {
		again := t.metIn == pass && id <= t.met
		if !again {
			t.met, t.metIn = id, pass
		}
		return !again
	}
	return slices.ContainsFunc(t.ahead, func(e early) bool { return e.from <= id && id <= e.to && e.pass < pass })
}
