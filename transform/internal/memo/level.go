package memo

import "errors"

// level is a hash table of a power of two of pages, which reserve makes. The
// top bits of a key name its page: in the order of the pages of one level those
// of any other come in order too.
type level struct {
	bits    uint8 // there are 1<<bits pages
	pages   pages // nil: none
	records int
}

func (l *level) count() uint64 { return 1 << l.bits }

// room is how many records the pages take: three quarters of their slots.
func (l *level) room() int {
	if l.pages == nil {
		return 0
	}
	return roomOf(l.bits)
}

func roomOf(bits uint8) int { return slotsPerPage / 4 * 3 << bits }

func (l *level) get(k Key) (Value, bool, error) {
	if l.pages == nil {
		return Value{}, false, nil
	}
	s, _, err := l.find(k)
	if err != nil || s.key() != k {
		return Value{}, false, err
	}
	return s.value(), true, nil
}

// put needs room for a record more.
func (l *level) put(k Key, v Value) error {
	s, i, err := l.find(k)
	if err != nil {
		return err
	}
	if s.key() != k {
		l.records++
	}
	s.set(k, v)
	l.pages.changed(i)
	return nil
}

// find returns the slot of a key, or the one that it would take, and the page
// that has it. There is one: not all slots are taken.
func (l *level) find(k Key) (*slot, uint64, error) {
	for i := k.Hi >> (64 - l.bits); ; i = (i + 1) & (l.count() - 1) {
		p, err := l.pages.page(i)
		if err != nil {
			return nil, 0, err
		}
		start := int(k.Lo % slotsPerPage)
		for n := range slotsPerPage {
			s := p.slot((start + n) % slotsPerPage)
			if held := s.key(); held == k || held == (Key{}) {
				return s, i, nil
			}
		}
	}
}

// reserve makes room for more records. Whoever puts the records of another
// level in their order must make room for all of them before: those that come
// first would crowd the first pages of a level that is too small.
func (l *level) reserve(more int, newPages func(count uint64) (pages, error)) error {
	if l.records+more <= l.room() {
		return nil
	}
	next := level{bits: l.bits}
	for l.records+more > roomOf(next.bits) {
		next.bits++
	}
	var err error
	if next.pages, err = newPages(next.count()); err != nil {
		return err
	}
	if err := l.each(next.put); err != nil {
		return errors.Join(err, next.close())
	}
	err = l.close()
	*l = next
	return err
}

// each passes on every record, page by page.
func (l *level) each(visit func(Key, Value) error) error {
	return l.eachPage(func(_ uint64, p *page) error {
		for n := range slotsPerPage {
			if s := p.slot(n); s.key() != (Key{}) {
				if err := visit(s.key(), s.value()); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// empty takes all records out and keeps the pages.
func (l *level) empty() error {
	l.records = 0
	return l.eachPage(func(i uint64, p *page) error {
		clear(p[:])
		l.pages.changed(i)
		return nil
	})
}

func (l *level) eachPage(visit func(uint64, *page) error) error {
	if l.pages == nil {
		return nil
	}
	for i := range l.count() {
		p, err := l.pages.page(i)
		if err != nil {
			return err
		}
		if err := visit(i, p); err != nil {
			return err
		}
	}
	return nil
}

func (l *level) close() error {
	if l.pages == nil {
		return nil
	}
	return l.pages.close()
}
