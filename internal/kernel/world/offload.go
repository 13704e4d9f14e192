package world

import (
	"errors"

	"github.com/congctl/congctl/internal/kernel/ethtool"
)

// segmentationOff makes a link of the calling thread's namespace take single packets:
// the kernel cuts super-packets between the qdisc and the link. Checksums are still
// left to the link, which in a veth means that nobody computes them.
func segmentationOff(link string) error {
	return errors.Join(ethtool.TSO.Set(link, false), ethtool.GSO.Set(link, false))
}
