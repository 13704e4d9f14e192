package batchlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/loop/store/wire"
)

// segment is one file.
type segment struct {
	number           uint64
	end              int64 // of its last whole batch
	size             int64 // on disk: above end behind a damage
	batches, records int
	gone             struct{ batches, records int } // of them delivered
	began            time.Time
}

const suffix = ".pb"

func (l *Log) path(number uint64) string {
	return filepath.Join(l.opt.Dir, fmt.Sprintf("%020d%s", number, suffix))
}

// numbers returns those of the segments on disk, in order. Other files are left alone.
func (l *Log) numbers() (all []uint64, err error) {
	files, err := os.ReadDir(l.opt.Dir)
	for _, f := range files {
		digits, ours := strings.CutSuffix(f.Name(), suffix)
		n, nerr := strconv.ParseUint(digits, 10, 63)
		if ours && nerr == nil && len(digits) == 20 && f.Type().IsRegular() {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, err
}

// reopen takes in a segment that an earlier process left, of which all before at is delivered.
func (l *Log) reopen(number uint64, at position) error {
	f, err := os.OpenFile(l.path(number), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	s := &segment{number: number, size: fi.Size(), began: fi.ModTime()}
	delivered := int64(0) // a boundary: what stands in the cursor may be none
	failed := l.scan(f, s, func() {
		if number < at.Segment || number == at.Segment && s.end <= at.Offset {
			s.gone.batches, s.gone.records, delivered = s.batches, s.records, s.end
		}
	})
	switch {
	case errors.Is(failed, wire.ErrTorn):
		l.counts.TornBytes += s.size - s.end
		if f.Truncate(s.end) == nil { // else it is torn the next time too
			s.size = s.end
		}
	case failed != nil:
		l.counts.Damaged++
		l.counts.DamagedBytes += s.size - s.end
		l.opt.Report(&Damage{f.Name(), s.end, s.size - s.end, failed})
	}
	l.segments = append(l.segments, s)
	l.bytes += s.size
	if s.gone.batches > 0 || len(l.segments) == 1 {
		l.head = position{number, delivered}
	}
	return nil
}

// scan reads the batches of r into s, until an error or the end.
func (l *Log) scan(r io.Reader, s *segment, each func()) error {
	l.in.Reset(r)
	for {
		batch, end, err := l.in.Next()
		records := 0
		if err == nil {
			records, err = wire.CountConns(batch)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.end, s.batches, s.records = end, s.batches+1, s.records+records
		each()
	}
}
