package qdisc

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// named gives those with a handle, which a person gave them. The kernel gives its own
// none.
func named(all []Saved) (out []Saved) {
	for _, s := range all {
		if s.Handle != 0 {
			out = append(out, s)
		}
	}
	return out
}

// Bring makes a link send through what was saved. What the kernel put there by itself is
// what it puts there now when ours has gone: settings or the MTU may have changed. All
// that has a handle is put back with its options.
func (c *Conn) Bring(link int, want []Saved) error {
	now, err := c.Save(link)
	if err != nil || Same(now, want) {
		return err
	}
	if slices.ContainsFunc(named(now), func(s Saved) bool { return s.Parent == Root }) {
		if err := c.Delete(At{Link: link, Parent: Root}); err != nil {
			return err
		}
	}
	for _, s := range named(want) {
		err = errors.Join(err, c.put(link, s))
	}
	return err
}

func (c *Conn) put(link int, s Saved) error {
	return c.send("put back", unix.NLM_F_CREATE|unix.NLM_F_REPLACE, At{link, s.Parent, s.Handle}, Raw{s.Kind, s.Options})
}

// Same tells whether a link sends through the same, but for what the kernel puts there by
// itself.
func Same(a, b []Saved) bool { return Equal(named(a), named(b)) }

// Equal tells whether a link sends through the very same.
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
