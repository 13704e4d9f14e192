package shape

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/core/shaping"
)

// View reads a link, and its ifb where what it receives is queued, for people.
func View(name string) (shaping.View, error) {
	l, err := Read(name)
	if err != nil {
		return shaping.View{}, err
	}
	ifb, err := Read(ifbName(l.Index))
	if errors.Is(err, ErrNoLink) {
		return shaping.NewView(l, nil), nil
	}
	return shaping.NewView(l, &ifb), err
}

// NeedsRoot says what the kernel's EPERM means: who must grant what.
func NeedsRoot(err error) error {
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: needs root, or CAP_NET_ADMIN over this network namespace: sudo, or in a container --cap-add NET_ADMIN by whoever starts it", err)
	}
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EROFS) {
		return fmt.Errorf("%w: needs root and a writable state directory", err)
	}
	return err
}
