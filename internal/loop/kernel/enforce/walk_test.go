package enforce

import (
	"errors"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// rests is an iterator over rests million sockets, as the kernel reads it.
type rests struct{ left, seen int }

func (r *rests) Read([]byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	r.left--
	r.seen++
	return 0, &os.PathError{Op: "read", Path: "bpf_iter", Err: unix.EAGAIN}
}

func TestWalkGoesOnAfterARest(t *testing.T) {
	for _, millions := range []int{0, 1, 20} {
		it := &rests{left: millions}
		if err := walk(it); err != nil || it.seen != millions {
			t.Errorf("%d of %d million sockets seen, %v", it.seen, millions, err)
		}
	}
	if err := walk(&rests{left: maxRests + 1}); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("a kernel that never ends: %v", err)
	}
}
