package sockets

// sink lets a stream of sockets be written without a check at each: after the
// first write error the rest is skipped and the error returned at the end.
type sink struct {
	write func([]byte) (int, error)
	buf   []byte
	err   error
}

// flushBytes is 64 KiB: some hundred sockets for each write call, and a reader of
// a pipe still sees them as they come.
const flushBytes = 64 << 10

func (s *sink) flush(least int) {
	if len(s.buf) < least {
		return
	}
	if s.err == nil {
		_, s.err = s.write(s.buf)
	}
	s.buf = s.buf[:0]
}
