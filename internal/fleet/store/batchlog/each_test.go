package batchlog

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/congctl/congctl/internal/loop/store/wire"
)

// Each reads all batches, without their lengths, from the oldest on, delivered or not, that were there when it
// began. It returns errors of each unchanged; other batches may come meanwhile, but none may go.
func (l *Log) Each(each func(batch []byte) error) error {
	l.mu.Lock()
	var all []segment
	for _, s := range l.segments {
		all = append(all, *s)
	}
	l.mu.Unlock()
	var in wire.FrameReader
	for i := range all {
		if err := l.eachOf(&in, &all[i], each); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) eachOf(in *wire.FrameReader, s *segment, each func([]byte) error) error {
	f, err := os.Open(l.path(s.number))
	if err != nil {
		return fmt.Errorf("read log of batches: %w", err)
	}
	defer f.Close()
	in.Reset(io.NewSectionReader(f, 0, s.end))
	for {
		batch, at, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read log of batches: %w", &Damage{f.Name(), at, s.end - at, err})
		}
		if err := each(batch); err != nil {
			return err
		}
	}
}
