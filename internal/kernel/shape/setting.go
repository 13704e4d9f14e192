package shape

import (
	"fmt"
	"strings"

	"github.com/congctl/congctl/internal/core/change"
	"github.com/congctl/congctl/internal/kernel/ethtool"
)

// Kinds of settings, each with the interface as target.
const (
	Egress  = string(change.Egress)  // the root qdisc and what hangs below it
	Ingress = string(change.Ingress) // what is done with what comes in
	TSO     = string(change.TSO)     // TCP segmentation offload: on or off
	GSO     = string(change.GSO)     // generic segmentation offload: on or off
)

// Kinds lists them.
var Kinds = []string{Egress, Ingress, TSO, GSO}

// Get reads a setting as one line of text.
func Get(kind, link string) (string, error) {
	switch kind {
	case Egress:
		return getEgress(link)
	case Ingress:
		return getIngress(link)
	case TSO:
		return onOff(offload(link, ethtool.TSO))
	case GSO:
		return onOff(offload(link, ethtool.GSO))
	}
	return "", fmt.Errorf("read setting %s of %s: no such kind", kind, link)
}

// Set writes what Get reads, or what a plan asks for.
func Set(kind, link, value string) error {
	switch kind {
	case Egress:
		return setEgress(link, value)
	case Ingress:
		return setIngress(link, value)
	case TSO:
		return ethtool.TSO.Set(link, value == "on")
	case GSO:
		return ethtool.GSO.Set(link, value == "on")
	}
	return fmt.Errorf("write setting %s of %s: no such kind", kind, link)
}

func onOff(on bool, err error) (string, error) {
	if on {
		return "on", err
	}
	return "off", err
}

// shaped begins the value of an egress or ingress that is ours; any other is qdiscs as
// they were saved.
const shaped = "shaped "

func isShaped(value string) bool { return strings.HasPrefix(value, shaped) }
