package sqlitefile

// pageSet is a set of page numbers: a bit per page where there are many, 100
// bytes for one alone. The zero value is empty.
type pageSet struct{ parts map[uint32]*[8]uint64 }

// add adds a page and reports that it was not there.
func (s *pageSet) add(no uint32) bool {
	part := s.parts[no>>9]
	if part == nil {
		if s.parts == nil {
			s.parts = map[uint32]*[8]uint64{}
		}
		part = new([8]uint64)
		s.parts[no>>9] = part
	}
	word, bit := &part[no>>6&7], uint64(1)<<(no&63)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

func (s *pageSet) has(no uint32) bool {
	part := s.parts[no>>9]
	return part != nil && part[no>>6&7]&(1<<(no&63)) != 0
}
