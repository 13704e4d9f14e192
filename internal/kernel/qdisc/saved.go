package qdisc

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Saved is a qdisc as a dump tells it, enough to put it back: the kernel takes the
// options that it tells. Classes and filters are not among them.
type Saved struct {
	Kind           string
	Parent, Handle uint32
	Options        []byte
}

// Save reads what a link sends through, the root first. What it receives through
// (ingress, clsact) is not of it.
func (c *Conn) Save(link int) (all []Saved, err error) {
	stats, err := c.List(link)
	if err != nil {
		return nil, err
	}
	for _, s := range stats {
		if s.Kind == "ingress" || s.Kind == "clsact" {
			continue
		}
		all = append(all, Saved{s.Kind, s.At.Parent, s.At.Handle, s.Options})
	}
	slices.SortStableFunc(all, func(a, b Saved) int { return depth(all, a) - depth(all, b) })
	return all, nil
}

// depth is how many qdiscs stand above one.
func depth(all []Saved, s Saved) (n int) {
	for parent := s.Parent; parent != Root && n < len(all); n++ {
		i := slices.IndexFunc(all, func(a Saved) bool { return a.Handle>>16 == parent>>16 })
		if i < 0 {
			return n
		}
		parent = all[i].Parent
	}
	return n
}

// named tells whether a person gave the qdisc its handle; the kernel's own have none.
func (s Saved) named() bool { return s.Handle != 0 }

// Bring makes a link send through what was saved. What the kernel puts there by itself
// comes back by taking ours away; anything else is put back with its options.
func (c *Conn) Bring(link int, want []Saved) error {
	now, err := c.Save(link)
	if err != nil {
		return err
	}
	if Equal(now, want) {
		return nil
	}
	if slices.ContainsFunc(now, func(s Saved) bool { return s.named() && s.Parent == Root }) {
		if err := c.Delete(At{Link: link, Parent: Root}); err != nil {
			return err
		}
		if now, err = c.Save(link); err != nil || Equal(now, want) {
			return err
		}
	}
	return c.putBack(link, want)
}

// defaultHandle names a multi-queue root that had no name: its leaves are reached by it.
const defaultHandle = 1 << 16

// putBack puts named qdiscs back, and those without a name where the kernel now makes
// others by itself.
func (c *Conn) putBack(link int, want []Saved) error {
	var all error
	for _, s := range want {
		if s.Kind == "noqueue" && !s.named() {
			continue // no qdisc at all, which a link without a queue has again
		}
		if s.Parent != Root && s.Parent>>16 == 0 {
			s.Parent |= defaultHandle // below a root that had no name
		} else if s.Parent == Root && !s.named() && len(want) > 1 {
			s.Handle = defaultHandle
		}
		if err := c.put(link, s); err != nil {
			all = errors.Join(all, err)
		}
	}
	return all
}

func (c *Conn) put(link int, s Saved) error {
	req := c.request(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE|unix.NLM_F_ACK, At{link, s.Parent, s.Handle})
	req.AddData(nl.NewRtAttr(unix.TCA_KIND, nl.ZeroTerminated(s.Kind)))
	if len(s.Options) > 0 {
		req.AddData(nl.NewRtAttr(unix.TCA_OPTIONS, steady(s.Kind, s.Options)))
	}
	if err := execute(req); err != nil {
		return fmt.Errorf("put back qdisc %s: %w", s.Kind, err)
	}
	return nil
}

// Equal tells whether a link sends through the same.
func Equal(a, b []Saved) bool {
	return slices.EqualFunc(a, b, func(x, y Saved) bool {
		return x.Kind == y.Kind && x.Parent == y.Parent && x.Handle == y.Handle && bytes.Equal(x.Options, y.Options)
	})
}

// Text is what was saved as one line: KIND PARENT HANDLE OPTIONS for each, in
// hexadecimal, with semicolons between.
func Text(all []Saved) string {
	var parts []string
	for _, s := range all {
		options := "-"
		if len(s.Options) > 0 {
			options = hex.EncodeToString(s.Options)
		}
		parts = append(parts, fmt.Sprintf("%s %x %x %s", s.Kind, s.Parent, s.Handle, options))
	}
	return strings.Join(parts, "; ")
}

// ParseSaved reads what Text wrote.
func ParseSaved(text string) (all []Saved, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, "; ") {
		s, err := parseOne(part)
		if err != nil {
			return nil, fmt.Errorf("parse saved qdisc %q: %w", part, err)
		}
		all = append(all, s)
	}
	return all, nil
}

func parseOne(part string) (s Saved, err error) {
	f := strings.Split(part, " ")
	if len(f) != 4 || f[0] == "" {
		return s, errors.New("not four words: kind, parent, handle, options")
	}
	parent, err := strconv.ParseUint(f[1], 16, 32)
	if err != nil {
		return s, err
	}
	handle, err := strconv.ParseUint(f[2], 16, 32)
	if err != nil {
		return s, err
	}
	s = Saved{Kind: f[0], Parent: uint32(parent), Handle: uint32(handle)}
	if f[3] != "-" {
		s.Options, err = hex.DecodeString(f[3])
	}
	return s, err
}
