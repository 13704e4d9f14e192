// Package mailbox is the memory that a guest and its host share: the host leaves a job
// in it, the guest progress lines and one message, which the host reads.
//
// It starts no machine and knows no device: lab/kernel/vm gives QEMU the memory, and
// lab/kernel/guest maps it. Writing into it costs the guest a copy and no exit; a serial port
// costs one exit and some hundred instructions a byte.
//
// Its trap: both sides see the same bytes at the same time. What a word announces must be
// there before the word, so all words are written and read atomically.
package mailbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync/atomic"
	"time"
	"unsafe"
)

// Size of the memory in bytes. PCI needs a power of two; a long run's samples are a few
// MB, and untouched pages cost nothing.
const Size = 32 << 20

// The layout: words, the text of progress lines, the message. The job is where the message
// will be, and is overwritten by it.
const (
	stateAt    = 0 // uint32: state
	textLenAt  = 4 // uint32: bytes of progress text
	lengthAt   = 8 // uint32: bytes of the message
	checksumAt = 12
	timesAt    = 16 // one uint64 for each Times field, ns
	jobLenAt   = 40 // uint32: bytes of the job
	waitsAt    = 44 // uint32: 1 when the guest is about to read the job
	textAt     = 4 << 10
	messageAt  = 64 << 10
	// MaxMessage is the longest message in bytes.
	MaxMessage = Size - messageAt
)

// state is the kind of the message. The values are not 0 and 1, so that stray zeroes and
// ones are no message.
type state uint32

const (
	empty  state = 0
	report state = 0x7265706f
	fault  state = 0x6661756c
)

var (
	// ErrEmpty means that the guest has left no message.
	ErrEmpty = errors.New("no message in the mailbox")
	// ErrGuest marks an error that the guest itself reported.
	ErrGuest = errors.New("guest")

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// Times are moments of the guest's clock since its kernel started.
type Times struct {
	Up     time.Duration // the first process runs
	Loaded time.Duration // all modules are in
	Ended  time.Duration // the message is there
}

// Box is the memory seen as a mailbox.
type Box struct{ memory []byte }

// Open wants Size bytes, aligned to a page.
func Open(memory []byte) (Box, error) {
	if len(memory) != Size {
		return Box{}, fmt.Errorf("open mailbox: %d bytes, not %d", len(memory), Size)
	}
	return Box{memory}, nil
}

func (b Box) word(at int) *uint32 { return (*uint32)(unsafe.Pointer(&b.memory[at])) }

// Say adds a line of progress. Lines that do not fit are dropped: they are for people, and
// the first ones matter most.
func (b Box) Say(line string) {
	end := atomic.LoadUint32(b.word(textLenAt))
	room := b.memory[textAt+end : messageAt]
	text := append(bytes.ReplaceAll([]byte(line), []byte("\n"), []byte(" ")), '\n')
	if len(text) > len(room) {
		return
	}
	copy(room, text)
	atomic.StoreUint32(b.word(textLenAt), end+uint32(len(text)))
}

// Lines returns the progress lines after the first `read` bytes of text, and the number
// for the next call.
func (b Box) Lines(read int) (lines []string, next int) {
	end := min(int(atomic.LoadUint32(b.word(textLenAt))), messageAt-textAt)
	for read < end {
		text := b.memory[textAt+read : textAt+end]
		n := bytes.IndexByte(text, '\n')
		if n < 0 {
			break
		}
		lines = append(lines, string(text[:n]))
		read += n + 1
	}
	return lines, read
}

// Give leaves the job for a guest, in an empty mailbox.
func (b Box) Give(job []byte) error {
	if len(job) > MaxMessage {
		return fmt.Errorf("leave job: %d bytes, at most %d fit", len(job), MaxMessage)
	}
	clear(b.memory[:messageAt])
	copy(b.memory[messageAt:], job)
	atomic.StoreUint32(b.word(jobLenAt), uint32(len(job)))
	return nil
}

// Job returns what the host has left.
func (b Box) Job() []byte {
	return bytes.Clone(b.memory[messageAt : messageAt+min(atomic.LoadUint32(b.word(jobLenAt)), MaxMessage)])
}

// Wait signals that the guest will read the job next.
func (b Box) Wait() { atomic.StoreUint32(b.word(waitsAt), 1) }

// Waits reports whether the guest has signalled that.
func (b Box) Waits() bool { return atomic.LoadUint32(b.word(waitsAt)) == 1 }

// Report leaves the result of a run.
func (b Box) Report(message []byte, times Times) error {
	if len(message) > MaxMessage {
		return fmt.Errorf("leave report: %d bytes, at most %d fit; sample less often", len(message), MaxMessage)
	}
	b.leave(report, message, times)
	return nil
}

// Fault leaves the reason why there is no result.
func (b Box) Fault(err error, times Times) {
	text := err.Error()
	b.leave(fault, []byte(text[:min(len(text), MaxMessage)]), times)
}

func (b Box) leave(kind state, message []byte, times Times) {
	copy(b.memory[messageAt:], message)
	for i, t := range []time.Duration{times.Up, times.Loaded, times.Ended} {
		binary.LittleEndian.PutUint64(b.memory[timesAt+8*i:], uint64(t))
	}
	atomic.StoreUint32(b.word(lengthAt), uint32(len(message)))
	atomic.StoreUint32(b.word(checksumAt), crc32.Checksum(message, castagnoli))
	atomic.StoreUint32(b.word(stateAt), uint32(kind))
}

// Take returns the report, ErrEmpty if there is none, or the guest's error instead.
func (b Box) Take() ([]byte, Times, error) {
	kind := state(atomic.LoadUint32(b.word(stateAt)))
	if kind == empty {
		return nil, Times{}, ErrEmpty
	}
	length, sum := atomic.LoadUint32(b.word(lengthAt)), atomic.LoadUint32(b.word(checksumAt))
	if length > MaxMessage {
		return nil, Times{}, fmt.Errorf("take message: length %d, at most %d fit", length, MaxMessage)
	}
	message := bytes.Clone(b.memory[messageAt : messageAt+length])
	if got := crc32.Checksum(message, castagnoli); got != sum {
		return nil, Times{}, fmt.Errorf("take message: checksum %08x of %d bytes, announced %08x", got, length, sum)
	}
	times := b.times()
	switch kind {
	case report:
		return message, times, nil
	case fault:
		return nil, times, fmt.Errorf("%w: %s", ErrGuest, message)
	}
	return nil, Times{}, fmt.Errorf("take message: unknown kind %08x", uint32(kind))
}

func (b Box) times() Times {
	at := func(i int) time.Duration {
		return time.Duration(binary.LittleEndian.Uint64(b.memory[timesAt+8*i:]))
	}
	return Times{Up: at(0), Loaded: at(1), Ended: at(2)}
}
