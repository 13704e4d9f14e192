package weblog

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// source is one open file of a log, and how far it is read.
type source struct {
	file    *os.File
	info    fs.FileInfo // as opened
	maxLine int

	offset int64
	mark   []byte // what is before offset
	rest   []byte // of a line whose end is not written yet
	skip   bool   // the line under way is too long, or its begin was not read: up to its end
	number int64  // of the last line, from where reading began
	quiet  int    // reads in a row that found nothing
}

const (
	// chunk is read at a time; lines come in runs of some hundred bytes.
	chunk = 64 << 10
	// markBytes hold a line of nginx with its time and connection: no other file has them there.
	markBytes = 512
	// leastLine bytes: no format has a shorter line. One that is none costs as much to refuse.
	leastLine = 128
	// manyZeros skipped are told: a log written without O_APPEND has as many after a copytruncate as it had
	// bytes, and who enlarges one by hand does not choose so few.
	manyZeros = 64 << 20
)

func newSource(f *os.File, info fs.FileInfo, maxLine int) *source {
	return &source{file: f, info: info, maxLine: maxLine}
}

// toEnd skips what is there.
func (s *source) toEnd() {
	s.offset = s.info.Size()
	s.mark = s.before()
	s.skip = s.offset > 0 && !bytes.HasSuffix(s.mark, []byte("\n"))
}

// before returns what the file has now before offset.
func (s *source) before() []byte {
	b := make([]byte, min(markBytes, s.offset))
	n, _ := s.file.ReadAt(b, s.offset-int64(len(b)))
	return b[:n]
}

// cut reports whether the file was cut since it was read, even if it grew beyond offset again.
func (s *source) cut() bool {
	info, err := s.file.Stat()
	return err == nil && (info.Size() < s.offset || !bytes.HasSuffix(s.before(), s.mark))
}

// again begins a file that was cut: what it holds now is new.
func (s *source) again() { s.offset, s.mark, s.rest, s.skip = 0, nil, nil, false }

// drain reads on, at most room bytes or until stop is closed. It returns the bytes read, where lines are
// shorter than leastLine that many for each, and the bytes that it left.
func (s *source) drain(room int64, stop <-chan struct{}, fn func(int64, []byte)) (used, left int64, err error) {
	info, err := s.file.Stat()
	if err != nil {
		return 0, 0, err
	}
	buf, zeros := make([]byte, chunk), int64(0)
	for used < room && !stopped(stop) {
		n, err := s.file.ReadAt(buf, s.offset)
		lines := s.take(buf[:n], fn)
		used += max(int64(n), lines*leastLine)
		if errors.Is(err, io.EOF) {
			if s.quiet++; used > 0 {
				s.quiet = 0
			}
			break
		} else if err != nil {
			return used, 0, err
		}
		if len(bytes.TrimLeft(buf[:n], "\x00")) == 0 {
			zeros += s.overHole(info.Size())
		}
	}
	if zeros > manyZeros {
		err = errors.New("zeros in it are skipped; its server must open it to append, and nothing else may write to it")
	}
	return used, max(info.Size()-s.offset, 0), err
}

func stopped(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// take returns how many lines ended.
func (s *source) take(b []byte, fn func(int64, []byte)) int64 {
	before := s.number
	s.offset += int64(len(b))
	s.mark = append(s.mark, b[max(0, len(b)-markBytes):]...)
	s.mark = append(s.mark[:0], s.mark[max(0, len(s.mark)-markBytes):]...)
	s.lines(b, fn)
	return s.number - before
}

// overHole goes on where the file has data again, or to size: a file of 8 TiB without a byte in it is
// made by one call. Where the file system does not tell, zeros are read.
func (s *source) overHole(size int64) (skipped int64) {
	next, err := s.file.Seek(s.offset, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		next = size
	} else if err != nil {
		return 0
	}
	if skipped = next - s.offset; skipped <= 0 {
		return 0
	}
	s.offset, s.mark = next, nil
	return skipped
}

func (s *source) lines(b []byte, fn func(int64, []byte)) {
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			s.keep(b, fn)
			return
		}
		s.keep(b[:i], fn)
		b = b[i+1:]
		if !s.skip {
			s.hand(fn)
		}
		s.rest, s.skip = s.rest[:0], false
	}
}

func (s *source) hand(fn func(int64, []byte)) {
	s.number++
	fn(s.number, s.rest)
}

// keep adds to the present line. Zeros before a line are a hole's. One that gets longer than allowed is
// handed out at once, with one byte more, so that the decoder sees it although it may never end.
func (s *source) keep(b []byte, fn func(int64, []byte)) {
	if s.skip {
		return
	}
	if len(s.rest) == 0 {
		b = bytes.TrimLeft(b, "\x00")
	}
	s.rest = append(s.rest, b[:min(len(b), s.maxLine+1-len(s.rest))]...)
	if len(s.rest) > s.maxLine {
		s.hand(fn)
		s.skip = true
	}
}

// done reports whether a file that was moved away can be left: a while after its last line, when no process
// has it open to write, which the kernel tells by a lease to the file's owner only; else after long.
func (s *source) done() bool {
	return s.quiet >= longReads || s.quiet >= fewReads && unwritten(s.file)
}

const (
	// fewReads are a minute: for a server that opens its log for each line.
	fewReads = 60
	// longReads are an hour: a response that ends later has no arm any more (accesslog: 13 windows).
	longReads = 3600
)

func unwritten(f *os.File) bool {
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		return false
	}
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return err == nil
}
