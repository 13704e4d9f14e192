package shape

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/kernel/ethtool"
)

// offload reads a switch. A link that has none has it off.
func offload(link string, o ethtool.Offload) (bool, error) {
	on, err := o.On(link)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return false, nil
	}
	return on, err
}
