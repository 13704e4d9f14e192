package ledger

// chunkLen entries are allocated at once: 256 kB, so that growing never copies
// and the last, partly used chunk wastes little beside 26 MB at 100,000 entries.
const chunkLen = 1024

// none is no entry. Index 0 is never handed out, so that zero means none.
const none = 0

// slab hands out entries by number, in chunks that never move. Freed ones are
// reused last in, first out; memory is kept for the next storm, at most Config.MaxConns.
type slab struct {
	chunks []*[chunkLen]entry
	used   uint32 // numbers ever handed out, plus number 0
	free   uint32 // first of the chain through entry.next
	live   int
}

func (s *slab) at(i uint32) *entry { return &s.chunks[i/chunkLen][i%chunkLen] }

// take gives a zeroed entry and its number.
func (s *slab) take() (uint32, *entry) {
	s.live++
	if i := s.free; i != none {
		e := s.at(i)
		s.free = e.next
		*e = entry{}
		return i, e
	}
	if s.used == none {
		s.used = 1
	}
	if int(s.used/chunkLen) == len(s.chunks) {
		s.chunks = append(s.chunks, new([chunkLen]entry))
	}
	i := s.used
	s.used++
	return i, s.at(i)
}

func (s *slab) give(i uint32) {
	s.live--
	s.at(i).next = s.free
	s.free = i
}
