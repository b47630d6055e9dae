package extract

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"iter"
	"math"
	"slices"
	"strings"

	"gander/extract/internal/sqlitero"
	"gander/schemas/values"
)

// sessionKey is a session id as stored: NULL, or the bytes of its text.
type sessionKey struct {
	text string
	ok   bool
}

// keyOf is valid as long as the value.
func keyOf(v *sqlitero.Value) sessionKey {
	text, ok := textOf(v)
	return sessionKey{text, ok}
}

// kept is the key for longer than its value is valid.
func (k sessionKey) kept() sessionKey { return sessionKey{strings.Clone(k.text), k.ok} }

func (k sessionKey) clean() (string, bool) {
	clean, _ := values.CleanUTF8(k.text)
	return clean, k.ok
}

// sessionIndex numbers the sessions: those with a row by rowid, then those
// that are only named.
type sessionIndex struct {
	ids      []int64      // rowids of the rows, by ordinal
	created  []int64      // microseconds, by ordinal; MaxInt64 when not readable
	keys     []sessionKey // by ordinal, those without a row too
	ordinals map[sessionKey]int32
	threads  map[sessionKey]int32 // the first session of a thread
}

// ordinal returns the number of a session, giving it one when it has none.
func (x *sessionIndex) ordinal(k sessionKey) int32 {
	n, ok := x.ordinals[k]
	if !ok {
		k, n = k.kept(), int32(len(x.keys))
		x.ordinals[k] = n
		x.keys = append(x.keys, k)
	}
	return n
}

// messageIndex tells which rows belong to which session: rows in order of
// rowid, sessions in order of ordinal, 16 bytes per row.
type messageIndex struct {
	ids      []int64 // rowids
	sessions []int32 // ordinals, by row
	rows     []int32 // positions in ids, by session, then rowid
	starts   []int32 // of a session's part of rows, by ordinal; one more at the end
}

// group fills rows and starts.
func (x *messageIndex) group(sessions int) {
	x.starts = make([]int32, sessions+1)
	for _, s := range x.sessions {
		x.starts[s+1]++
	}
	for i := range sessions {
		x.starts[i+1] += x.starts[i]
	}
	next := slices.Clone(x.starts)
	x.rows = make([]int32, len(x.ids))
	for i, s := range x.sessions {
		x.rows[next[s]] = int32(i)
		next[s]++
	}
}

// runs yields the rowids of a session in rising order, in stretches that no
// row of another session interrupts.
func (x *messageIndex) runs(ordinal int) iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		if x == nil || ordinal+1 >= len(x.starts) {
			return
		}
		runs(x.rows[x.starts[ordinal]:x.starts[ordinal+1]], x.ids, yield)
	}
}

// runs yields the stretches of ids that rise at consecutive positions; in a
// damaged table they may not.
func runs(positions []int32, ids []int64, yield func([]int64) bool) {
	for len(positions) > 0 {
		n := 1
		for n < len(positions) && positions[n] == positions[n-1]+1 && ids[positions[n]] > ids[positions[n-1]] {
			n++
		}
		if !yield(ids[positions[0] : int(positions[0])+n]) {
			return
		}
		positions = positions[n:]
	}
}

// order reads where every row belongs, and so decides everything about the
// order of the stream before anything is yielded. It scans the tables
// themselves.
func (r *sessionsReader) order() error {
	x := &sessionIndex{ordinals: map[sessionKey]int32{}, threads: map[sessionKey]int32{}}
	r.index = x
	if t := r.sessions; t != nil {
		err := r.scan(t, []string{"id", "created_at", "thread_id"}, func(id int64, v []sqlitero.Value) error {
			k, n := keyOf(&v[0]).kept(), int32(len(x.keys))
			if _, twice := x.ordinals[k]; !twice {
				x.ordinals[k] = n
			}
			if thread := keyOf(&v[2]).kept(); thread.text != "" {
				if _, twice := x.threads[thread]; !twice {
					x.threads[thread] = n
				}
			}
			created, ok := timeOf(&v[1])
			if !ok {
				created = math.MaxInt64
			}
			x.ids, x.keys, x.created = append(x.ids, id), append(x.keys, k), append(x.created, created)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if t := r.messages; t != nil {
		r.byMessage = &messageIndex{}
		seen := &messageIDs{seed: maphash.MakeSeed()}
		err := r.scan(t, []string{"session_id", "message_id"}, func(id int64, v []sqlitero.Value) error {
			if text, _ := textOf(&v[1]); text != "" {
				seen.add(text, int32(len(r.byMessage.ids)))
			}
			r.byMessage.ids = append(r.byMessage.ids, id)
			r.byMessage.sessions = append(r.byMessage.sessions, x.ordinal(keyOf(&v[0])))
			return nil
		})
		if err != nil {
			return err
		}
		r.byMessage.group(len(x.keys))
		if err := r.findCopies(seen); err != nil {
			return err
		}
	}
	if t := r.threads; t != nil {
		r.byThread = &messageIndex{}
		err := r.scan(t, []string{"session_id", "thread_id"}, func(id int64, v []sqlitero.Value) error {
			k, thread := keyOf(&v[0]), keyOf(&v[1])
			n, ok := int32(0), false
			if k.text == "" {
				if n, ok = x.threads[thread]; !ok {
					k = thread
				}
			}
			if !ok {
				n = x.ordinal(k)
			}
			r.byThread.ids = append(r.byThread.ids, id)
			r.byThread.sessions = append(r.byThread.sessions, n)
			return nil
		})
		if err != nil {
			return err
		}
		r.byThread.group(len(x.keys))
	}
	return nil
}

func (r *sessionsReader) scan(t *storedTable, columns []string, row sqlitero.Row) error {
	reader := r.reader(t, columns)
	defer reader.Close()
	t.counted = true
	return r.scanWith(reader, t, func(id int64, v []sqlitero.Value) error {
		t.count++
		return row(id, v)
	}, func(g sqlitero.Gap) error {
		t.counted = false
		return r.gap(t.name)(g)
	})
}

// scanWith scans a table and tells of rowids that came again: what had one of
// them may be lost.
func (r *sessionsReader) scanWith(reader *rowReader, t *storedTable, row sqlitero.Row, gap func(sqlitero.Gap) error) error {
	if err := reader.Scan(r.ctx, row, gap); err != nil || reader.Again() == nil {
		return err
	}
	t.counted = false
	return r.gap(t.name)(*reader.Again())
}

// messageIDs collects message ids: 16 bytes each.
type messageIDs struct {
	seed maphash.Seed
	all  []hashed
}

type hashed struct {
	hash uint64
	row  int32 // position in messageIndex.ids
}

func (m *messageIDs) add(id string, row int32) {
	m.all = append(m.all, hashed{maphash.String(m.seed, id), row})
}

// repeated keeps the entries whose hash occurs more than once, in order of
// hash, then row.
func repeated(all []hashed) []hashed {
	slices.SortFunc(all, func(a, b hashed) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.row, b.row))
	})
	out := all[:0]
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].hash == all[0].hash {
			n++
		}
		if n > 1 {
			out = append(out, all[:n]...)
		}
		all = all[n:]
	}
	return out
}

// copies holds the messages that an earlier session holds too, by rowid: 16
// bytes each.
type copies struct {
	ids  []int64
	from []int32 // ordinals
}

// copiedFrom returns the id of the session that a message was copied from.
func (r *sessionsReader) copiedFrom(t *storedTable, id int64) (string, bool) {
	if t != r.messages {
		return "", false
	}
	i, ok := slices.BinarySearch(r.copies.ids, id)
	if !ok {
		return "", false
	}
	return r.index.keys[r.copies.from[i]].clean()
}

// findCopies finds the messages with the message_id and created_timestamp of a
// message of an earlier session. Sessions are in order of created_at, then
// rowid; behind them those without a readable one, and last those without a
// row. Ids are compared by a seeded 64-bit hash.
func (r *sessionsReader) findCopies(seen *messageIDs) error {
	candidates := repeated(seen.all)
	seen.all = nil
	if len(candidates) == 0 {
		return nil
	}
	rows := make([]int32, len(candidates))
	for i, c := range candidates {
		rows[i] = c.row
	}
	slices.Sort(rows)
	reader := r.reader(r.messages, []string{"message_id", "created_timestamp"})
	defer reader.Close()
	next := 0
	same := candidates[:0]
	var key []byte
	var err error
	runs(rows, r.byMessage.ids, func(ids []int64) bool {
		err = reader.Fetch(r.ctx, ids, func(id int64, v []sqlitero.Value) error {
			text, _ := textOf(&v[0])
			key = appendStamp(append(key[:0], text...), &v[1])
			same = append(same, hashed{maphash.Bytes(seen.seed, key), rows[next]})
			next++
			return nil
		}, func(int64, error) error {
			next++
			return nil
		})
		return err == nil
	})
	if err != nil {
		return err
	}
	same = repeated(same)
	rank := r.index.ranks()
	var found []hashed // row and, as its hash, the session it was copied from
	for len(same) > 0 {
		n, first := 1, r.byMessage.sessions[same[0].row]
		for ; n < len(same) && same[n].hash == same[0].hash; n++ {
			if s := r.byMessage.sessions[same[n].row]; rank[s] < rank[first] {
				first = s
			}
		}
		for _, c := range same[:n] {
			if r.byMessage.sessions[c.row] != first {
				found = append(found, hashed{uint64(first), c.row})
			}
		}
		same = same[n:]
	}
	slices.SortFunc(found, func(a, b hashed) int { return cmp.Compare(a.row, b.row) })
	r.copies.ids, r.copies.from = make([]int64, len(found)), make([]int32, len(found))
	for i, f := range found {
		r.copies.ids[i], r.copies.from[i] = r.byMessage.ids[f.row], int32(f.hash)
	}
	return nil
}

// ranks returns the place of each session in the order that tells which of two
// is the earlier.
func (x *sessionIndex) ranks() []int32 {
	order := make([]int32, len(x.keys))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order[:len(x.ids)], func(a, b int32) int { return cmp.Compare(x.created[a], x.created[b]) })
	rank := make([]int32, len(order))
	for place, s := range order {
		rank[s] = int32(place)
	}
	return rank
}

// appendStamp appends a value so that two are equal as bytes when they are as
// values: numbers by value, texts and BLOBs by their bytes.
func appendStamp(dst []byte, v *sqlitero.Value) []byte {
	whole := func(n int64) []byte { return binary.BigEndian.AppendUint64(append(dst, 0, 'i'), uint64(n)) }
	switch v.Kind {
	case sqlitero.Null:
		return append(dst, 0, 'n')
	case sqlitero.Int:
		return whole(v.Int)
	case sqlitero.Real:
		if n, ok := values.WholeFloat(v.Real); ok {
			return whole(n)
		}
		return binary.BigEndian.AppendUint64(append(dst, 0, 'f'), math.Float64bits(v.Real))
	}
	return append(append(dst, 0, 't'), v.Bytes...)
}
