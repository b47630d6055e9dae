package transform

import (
	"github.com/zeebo/xxh3"

	"gander/schemas/values"
)

// usageKey is what a ledger row and a log have in common: stored input, output
// and total.
type usageKey struct{ in, out, total values.Int }

// ledgerRow is a row of usage_ledger that a log may be of.
type ledgerRow struct {
	number  uint64 // order in the ledgers of the home
	row     int64
	at      int64  // microseconds
	model   uint64 // modelHash
	session uint64 // hash
}

// ledgerMatch is the row that a log has so far.
type ledgerMatch struct {
	row     ledgerRow
	matched bool
	// The log's session, once two rows are alike but for theirs: as far as the
	// stores tell it that are read before the ledger.
	asked      bool
	session    uint64
	hasSession bool
}

// wantUsage asks for the ledger row of a log.
func (o *Overlap) wantUsage(c *LoggedCall, t values.Tokens) {
	if c.startedAt.OK && (t.Input.OK || t.Output.OK || t.Total.OK) {
		key := usageKey{t.Input, t.Output, t.Total}
		o.ledgers[key] = append(o.ledgers[key], c)
	}
}

// seeLedger sees a row of usage_ledger. Logs and rows belong together one to
// one: pair by pair the best of those whose log and row are free, which is of
// the same model first, then nearest in time, then of the log's own session.
//
// Each row is offered to the logs of its tokens when it comes: the best pair in
// which the log has no row yet, or a worse one, is made, and the row that the
// log had is offered in turn. As both sides agree which pairs are better this
// ends with the same pairs, and needs to remember one row for each log.
func (o *Overlap) seeLedger(row int64, session string, at values.Int, model string, t values.Tokens) {
	logs := o.ledgers[usageKey{t.Input, t.Output, t.Total}]
	if len(logs) == 0 || !at.OK {
		return
	}
	o.ledgerRows++
	offer := ledgerRow{o.ledgerRows, row, at.V, modelHash(model), xxh3.HashString(session)}
	for {
		var best *LoggedCall
		for _, c := range logs {
			if abs(c.startedAt.V-offer.at) <= within &&
				(!c.ledger.matched || o.better(c, &offer, c, &c.ledger.row)) &&
				(best == nil || o.better(c, &offer, best, &offer)) {
				best = c
			}
		}
		if best == nil {
			return
		}
		had, matched := best.ledger.row, best.ledger.matched
		best.ledger.row, best.ledger.matched = offer, true
		if !matched {
			return
		}
		offer = had
	}
}

// better orders pairs of a log and a row.
func (o *Overlap) better(c *LoggedCall, r *ledgerRow, than *LoggedCall, row *ledgerRow) bool {
	if a, b := c.sameModel(r), than.sameModel(row); a != b {
		return a
	}
	if a, b := abs(c.startedAt.V-r.at), abs(than.startedAt.V-row.at); a != b {
		return a < b
	}
	if a, b := o.ownSession(c, r), o.ownSession(than, row); a != b {
		return a
	}
	if r.number != row.number {
		return r.number < row.number
	}
	return c.number < than.number
}

func (c *LoggedCall) sameModel(r *ledgerRow) bool { return r.model != 0 && r.model == c.model }

func (o *Overlap) ownSession(c *LoggedCall, r *ledgerRow) bool {
	m := &c.ledger
	if !m.asked {
		m.asked = true
		if s := o.sessionOf(c); s.ok {
			m.session, m.hasSession = xxh3.HashString(s.s), true
		}
	}
	return m.hasSession && m.session == r.session
}

// usageRow is the ledger row of a log, once the primary stores are through.
func (c *LoggedCall) usageRow() values.Int {
	return values.Int{V: c.ledger.row.row, OK: c.ledger.matched}
}
