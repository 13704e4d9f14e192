package qdisc

import (
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Raw is a qdisc of any kind with options as the kernel told them: for putting back
// what was there. Only what a kind tells in the form in which it takes it comes back.
type Raw struct {
	Name    string
	Options []byte // TCA_OPTIONS; nil for the kernel's own choice
}

// Kind is the name.
func (r Raw) Kind() string { return r.Name }

func (r Raw) String() string {
	if len(r.Options) == 0 {
		return r.Name
	}
	return fmt.Sprintf("%s with %d bytes of options", r.Name, len(r.Options))
}

// takesNone are kinds that tell options and take none, or refuse them.
var takesNone = map[string]bool{"pfifo_fast": true, "mq": true, "noqueue": true}

func (r Raw) options() *nl.RtAttr {
	if len(r.Options) == 0 || takesNone[r.Name] {
		return nil
	}
	return nl.NewRtAttr(unix.TCA_OPTIONS, steady(r.Name, r.Options))
}

// Placed is a qdisc where it is, with its options as they are.
type Placed struct {
	At  At
	Raw Raw
}

// Tree reads all qdiscs of a link with their options, in the kernel's order, which has
// the root first.
func (c *Conn) Tree(link int) (tree []Placed, err error) {
	var bad error
	err = c.request(unix.RTM_GETQDISC, unix.NLM_F_DUMP, At{Link: link}).ExecuteIter(unix.NETLINK_ROUTE, unix.RTM_NEWQDISC, func(m []byte) bool {
		s, err := decode(m)
		if err == nil && s.At.Link == link {
			var o []byte
			o, err = rawOptions(m)
			tree = append(tree, Placed{s.At, Raw{s.Kind, o}})
		}
		bad = err
		return err == nil
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, fmt.Errorf("read qdiscs of link %d: %w", link, err)
	}
	return tree, nil
}

func rawOptions(m []byte) (o []byte, err error) {
	err = eachAttr(m[tcmsgLen:], func(typ uint16, v []byte) error {
		if typ == unix.TCA_OPTIONS {
			o = append([]byte(nil), v...)
		}
		return nil
	})
	return o, err
}
