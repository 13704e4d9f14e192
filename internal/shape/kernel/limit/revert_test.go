package limit

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ending ends this process as soon as it is written to.
type ending struct{}

func (ending) Write(b []byte) (int, error) { return len(b), unix.Kill(os.Getpid(), unix.SIGTERM) }

// TestRevertEndedAtOnce: from when it says that it waits, whoever ends it has the limit
// taken back.
func TestRevertEndedAtOnce(t *testing.T) {
	h, _ := waiting(t)
	if err := h.Revert("eth0", "7", time.Hour, ending{}); err != nil {
		t.Error(err)
	}
	if p, err := h.Waits("eth0"); p != nil || err != nil {
		t.Errorf("still waits: %+v, %v", p, err)
	}
}
