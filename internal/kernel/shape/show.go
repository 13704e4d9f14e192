package shape

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/core/shaping"
)

// View reads a link, and its ifb where what it receives is queued, for people; with what
// differs from the journals.
func (h *Host) View(name string) (v shaping.View, err error) {
	l, err := Read(name)
	if err != nil {
		return v, err
	}
	incoming, err := getIngress(name)
	if err != nil {
		return v, err
	}
	if !isShaped(incoming) {
		v = shaping.NewView(l, nil)
	} else {
		ifb, err := Read(ifbName(l.Index))
		if err != nil {
			return v, err
		}
		v = shaping.NewView(l, &ifb)
	}
	says, err := h.Differs(name)
	if err != nil {
		says = append(says, fmt.Sprintf("not compared with the journals: %s", err))
	}
	v.Warnings = append(append(v.Warnings, h.unconfirmed(name)...), says...)
	return v, nil
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
