package transform

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gander/schemas/values"
)

// Homes that repeat themselves come out the same wherever the records are, also
// where the bound is crossed in the middle of any store.
func TestSpilledHomes(t *testing.T) {
	rules := map[any]int{}
	for seed := range uint64(150) {
		h := randomHome(seed)
		out := runHome(t, h) // in memory, with none and with 20 records in memory
		for _, l := range out["dedup_links"] {
			rules[l["rule"]]++
		}
		records := int(seed % 100)
		if diff := cmp.Diff(out, runHomeIn(t, h, spilling(t, records))); diff != "" {
			t.Fatalf("home %d with %d records in memory: %s", seed, records, diff)
		}
	}
	for _, rule := range []string{ruleLegacy, ruleLog, ruleHistory, ruleThread, ruleSession} {
		if rules[rule] == 0 {
			t.Errorf("no row goes by rule %s", rule)
		}
	}
}

func micros(v int64) values.Int { return values.Int{V: v, OK: true} }

// event number n of a test, at a time.
func eventAt(n int, at int64) eventRef {
	return eventRef{[16]byte{byte(n), byte(n >> 8), 1}, micros(at)}
}

// 600 seconds are near and a microsecond more is not, before and after, wherever
// the ends of spans are.
func TestNear(t *testing.T) {
	const second = 1_000_000
	border := int64(noon) * second
	if border%stretch != 0 {
		t.Fatal("noon is not the beginning of a span")
	}
	for _, from := range []int64{0, 1, second, within - 1, within, within + 1, stretch - 1} {
		for _, c := range []struct {
			apart int64
			near  bool
		}{{0, true}, {1, true}, {within - 1, true}, {within, true}, {within + 1, false}, {stretch, false}, {stretch + within, false}} {
			for _, sign := range []int64{1, -1} {
				o := NewOverlap()
				logged := border + from
				stored := eventAt(1, logged+sign*c.apart)
				key := o.textHash("hi", "text", "assistant")
				o.askNear(key, logged)
				o.seeNear(key, stored, stored.at)
				ref, ok := o.near(key, logged)
				if ok != c.near || ok && ref != stored {
					t.Errorf("logged %d µs into a span, stored %d µs apart: %v", from, sign*c.apart, ok)
				}
				if ref, ok := o.near(o.textHash("ho", "text", "assistant"), logged); ok {
					t.Errorf("another text is stored as %v", ref)
				}
			}
		}
	}
}

// The event kept is within the time when any is. It is the nearest when the
// text is logged once in the time of a span, or stored at most twice in it.
func TestNearest(t *testing.T) {
	for seed := range uint64(20_000) {
		random := rand.New(rand.NewPCG(seed, 1))
		unit := []int64{1, 1000, 100_000_000, within / 2}[random.IntN(4)]
		at := func() int64 { return int64(noon)*1_000_000 + (random.Int64N(21)-10)*unit }
		logged, stored := make([]int64, 1+random.IntN(3)), make([]eventRef, random.IntN(5))
		loggedIn, storedIn := map[int64]int{}, map[int64]int{} // by span
		o := NewOverlap()
		key := o.textHash("hi", "text", "assistant")
		for i := range logged {
			logged[i] = at()
			loggedIn[logged[i]/stretch]++
			o.askNear(key, logged[i])
		}
		for i := range stored {
			stored[i] = eventAt(i, at())
			storedIn[stored[i].at.V/stretch]++
			o.seeNear(key, stored[i], stored[i].at)
		}
		for _, l := range logged {
			best, found := int64(0), false
			for _, s := range stored {
				if d := abs(s.at.V - l); d <= within && (!found || d < best) {
					best, found = d, true
				}
			}
			ref, ok := o.near(key, l)
			switch d := abs(ref.at.V - l); {
			case ok != found:
				t.Fatalf("seed %d: near is %t, not %t", seed, ok, found)
			case ok && (d < best || d > within):
				t.Fatalf("seed %d: %d µs apart", seed, d)
			case ok && d > best && (loggedIn[l/stretch] == 1 || storedIn[l/stretch] <= 2):
				t.Fatalf("seed %d: %d µs apart, the nearest is %d", seed, d, best)
			}
		}
	}
}

// An event that stays for a legacy block is told with its own time, however
// near the block's was.
func TestNearKeptTime(t *testing.T) {
	o := NewOverlap()
	at := int64(noon) * 1_000_000
	key := o.textHash("hi", "text", "assistant")
	kept := eventAt(1, at+600_000)
	o.askNear(key, at-within)
	o.seeNear(key, kept, kept.at)
	if _, ok := o.near(key, at-within); ok {
		t.Error("the event is too far")
	}
	o.seeNear(key, kept, micros(at))
	if ref, ok := o.near(key, at-within); !ok || ref != kept {
		t.Errorf("%v, %t", ref, ok)
	}
}

// A text that is logged and stored any number of times at about one time costs
// each of them the same.
func TestManyTexts(t *testing.T) {
	const many = 100_000
	for name, o := range map[string]*Overlap{"memory": NewOverlap(), "file": spilling(t, 1000)} {
		begun := time.Now()
		defer o.Close()
		o.asksTexts = true
		e := event{kind: "text", turnType: "assistant", block: 0, text: some("Done.")}
		c := o.logged("llm_request.0.jsonl", micros(0), "m")
		at := func(n int) values.Int { return micros(noon*1_000_000 + int64(n)) }
		ask := func(n int) []loggedBlock {
			l := loggedBlocks{overlap: o}
			e.at = at(n)
			l.add(&e)
			l.endRun()
			return l.blocks
		}
		for n := range many {
			o.wantMessage(c, "", ask(n))
		}
		p := place{session: some("s")}
		for n := range many {
			e.at = at(n)
			o.block(&p, &e, eventAt(n, e.at.V))
		}
		for n := range many {
			if v := o.decide("", ask(n)); v[0].rule != ruleLog {
				t.Fatalf("%s: block %d stays", name, n)
			}
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s: %v", name, took)
		}
		if s := o.sessionOf(c); s != some("s") || o.Err() != nil {
			t.Errorf("%s: session %v, %v", name, s, o.Err())
		}
	}
}

// Logs and ledger rows are paired one to one as if all pairs were known: the
// best first.
func TestLedgerPairs(t *testing.T) {
	type pair struct {
		log, row  int
		same, own bool
		distance  int64
	}
	for seed := range uint64(5000) {
		random := rand.New(rand.NewPCG(seed, 2))
		o := NewOverlap()
		tokens := values.Tokens{Input: micros(10)}
		logs := make([]*LoggedCall, 1+random.IntN(5))
		model := func() string { return []string{"m", "n", ""}[random.IntN(3)] }
		models, sessions := make([]string, len(logs)), make([]string, len(logs))
		for i := range logs {
			models[i], sessions[i] = model(), fmt.Sprint("s", random.IntN(2))
			logs[i] = o.logged(fmt.Sprint(i), micros(random.Int64N(5)*within/2), models[i])
			o.wantUsage(logs[i], tokens)
			o.wantLast(logs[i], sessions[i]) // which only that session says
			p := place{session: some(sessions[i])}
			o.block(&p, &event{kind: "text", turnType: "user", text: some(sessions[i])}, eventRef{})
		}
		var pairs []pair
		for row := range random.IntN(7) {
			at, name, session := random.Int64N(5)*within/2, model(), fmt.Sprint("s", random.IntN(2))
			o.seeLedger(int64(row), session, micros(at), name, tokens)
			for i, c := range logs {
				if d := abs(c.startedAt.V - at); d <= within {
					pairs = append(pairs, pair{i, row, name != "" && name == models[i], session == sessions[i], d})
				}
			}
		}
		sort.SliceStable(pairs, func(i, j int) bool {
			a, b := pairs[i], pairs[j]
			switch {
			case a.same != b.same:
				return a.same
			case a.distance != b.distance:
				return a.distance < b.distance
			}
			return a.own && !b.own
		})
		want, taken := make([]values.Int, len(logs)), map[int]bool{}
		for _, p := range pairs {
			if !want[p.log].OK && !taken[p.row] {
				want[p.log], taken[p.row] = micros(int64(p.row)), true
			}
		}
		for i, c := range logs {
			if got := c.usageRow(); got != want[i] {
				t.Fatalf("seed %d: log %d has row %v, not %v; %+v", seed, i, got, want[i], pairs)
			}
		}
	}
}

// The answers stand in 48 bytes.
func TestAnswers(t *testing.T) {
	a, b := eventAt(300, noon*1_000_000), eventRef{id: [16]byte{15: 9}}
	for _, s := range []sighting{{}, {seen: true, ref: a}, {seen: true, ref: b, session: sessionSet{7, true, false}}, {session: sessionSet{1 << 63, true, true}}} {
		v := s.value()
		if got := readSighting(&v); got != s && s.seen {
			t.Errorf("%+v becomes %+v", s, got)
		}
	}
	n := nearest{5, true, a}
	v := n.value()
	if got := readNearest(&v); got != n {
		t.Errorf("%+v", got)
	}
	sp := span{true, a, b}
	v = sp.value()
	if got := readSpan(&v); got != sp {
		t.Errorf("%+v", got)
	}
	q := queue{3, 2, b}
	v = q.value()
	if got := readQueue(&v); got != q {
		t.Errorf("%+v", got)
	}
	l := blockList{3, a, hash{Hi: 1, Lo: 2}}
	v = l.value()
	if got := readBlockList(&v); got != l {
		t.Errorf("%+v", got)
	}
	h := hashList{{Hi: 1, Lo: 2}, {Hi: 3, Lo: 4}, {Hi: 5, Lo: 6}}
	v = h.value()
	if got := readHashes(&v); got != h {
		t.Errorf("%+v", got)
	}
	i := bodyItem{true, 1 << 31}
	v = i.value()
	if got := readItem(&v); got != i {
		t.Errorf("%+v", got)
	}
}
