package shape

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/shaping"
	"github.com/congctl/congctl/internal/kernel/qdisc"
)

// EgressValue is the setting that a target asks for: rate in bytes per second, burst and
// limit in bytes, and the kind below.
func EgressValue(t shaping.Target) string { return value(t.Tbf, t.Inner) }

// IngressValue is the setting that a target asks for what comes in; "none" is no rule.
func IngressValue(t shaping.Target) string {
	if t.Ingress == nil {
		return noIngress
	}
	return value(*t.Ingress, "")
}

func value(t shaping.Tbf, inner string) string {
	kept := qdisc.Tbf{RateBytesPerS: t.Rate.BytesPerS(), BurstBytes: uint32(t.Burst), LimitBytes: uint32(t.Limit)}.Kept()
	return limit{kept, inner, nil}.String()
}

// limit is a bucket of ours with what hangs below.
type limit struct {
	qdisc.Tbf
	inner  string        // of ours, "" for the kernel's own queue
	guests []qdisc.Saved // what somebody hung there
}

// String is the limit as a setting.
func (l limit) String() string {
	text := fmt.Sprintf("%s%d %d %d %s", shaped, l.RateBytesPerS, l.BurstBytes, l.LimitBytes, cmp.Or(l.inner, "-"))
	if len(l.guests) > 0 {
		text += "; " + qdisc.Text(l.guests)
	}
	return text
}

func parseValue(v string) (l limit, err error) {
	own, guests, _ := strings.Cut(v, "; ")
	n, err := fmt.Sscanf(own, shaped+"%d %d %d %s", &l.RateBytesPerS, &l.BurstBytes, &l.LimitBytes, &l.inner)
	if l.inner == "-" {
		l.inner = ""
	}
	if err == nil {
		l.guests, err = qdisc.ParseSaved(guests)
	}
	if err != nil || n != 4 || v != l.String() {
		return l, fmt.Errorf("parse setting %q: not a rate, a burst, a limit and a kind", v)
	}
	if l.inner != "" && !slices.Contains(shaping.Inners, l.inner) {
		return l, fmt.Errorf("parse setting %q: %q cannot hang below a bucket", v, l.inner)
	}
	return l, nil
}

func getEgress(name string) (v string, err error) {
	l, err := find(name)
	if err != nil {
		return "", err
	}
	err = withConn(func(c *qdisc.Conn) error {
		all, err := c.Save(l.Attrs().Index)
		if err != nil {
			return err
		}
		v, err = egressText(all)
		return err
	})
	return v, err
}

// egressText tells ours by its numbers, since the kernel gives inner queues handles and
// options of its own.
func egressText(all []qdisc.Saved) (string, error) {
	if len(all) == 0 || all[0].Kind != "tbf" || all[0].Handle != qdisc.Handle(shaping.Handle) || all[0].Parent != qdisc.Root {
		return qdisc.Text(all), nil
	}
	t, err := qdisc.ReadTbf(all[0].Options)
	if err != nil {
		return "", err
	}
	l := limit{Tbf: t}
	for _, s := range all[1:] {
		switch {
		case s.Handle == 0: // the kernel's own
		case s.Handle == qdisc.Handle(shaping.ChildHandle) && slices.Contains(shaping.Inners, s.Kind):
			l.inner = s.Kind
		default:
			l.guests = append(l.guests, s)
		}
	}
	return l.String(), nil
}

func setEgress(name, v string) error {
	l, err := find(name)
	if err != nil {
		return err
	}
	return withConn(func(c *qdisc.Conn) error {
		if isShaped(v) {
			return shapeOrLeave(c, l.Attrs().Index, v)
		}
		all, err := qdisc.ParseSaved(v)
		if err != nil {
			return err
		}
		return c.Bring(l.Attrs().Index, all)
	})
}

// shapeOrLeave: a link that could not be shaped wholly is as it was.
func shapeOrLeave(c *qdisc.Conn, index int, v string) error {
	before, err := c.Save(index)
	if err != nil {
		return err
	}
	if err := shapeLink(c, index, v); err != nil {
		return errors.Join(err, c.Bring(index, before))
	}
	return nil
}

// shapeLink puts our bucket, or changes the one that is there without losing what waits.
func shapeLink(c *qdisc.Conn, index int, v string) error {
	l, err := parseValue(v)
	if err != nil {
		return err
	}
	root := qdisc.At{Link: index, Parent: qdisc.Root, Handle: qdisc.Handle(shaping.Handle)}
	child := qdisc.At{Link: index, Parent: qdisc.Child(root.Handle), Handle: qdisc.Handle(shaping.ChildHandle)}
	// A child that is taken from a tbf leaves a noop behind, which drops everything, and only
	// a change of the tbf puts a fifo in its place: so the child goes first.
	if err := dropBelow(c, index, l.inner); err != nil {
		return err
	}
	if err := c.Replace(root, l.Tbf); err != nil {
		return err
	}
	if l.inner == "fq_codel" {
		err = c.Replace(child, qdisc.FqCodel{ECN: true})
	}
	for _, g := range l.guests {
		err = errors.Join(err, c.Replace(qdisc.At{Link: index, Parent: g.Parent, Handle: g.Handle}, qdisc.Raw{Name: g.Kind, Options: g.Options}))
	}
	return err
}

// dropBelow takes away what hangs below a bucket of ours, but for what is to stay.
func dropBelow(c *qdisc.Conn, index int, inner string) error {
	all, err := c.Save(index)
	for _, s := range all {
		stays := s.Handle == qdisc.Handle(shaping.ChildHandle) && s.Kind == inner
		if s.Handle != 0 && s.Parent>>16 == uint32(shaping.Handle) && !stays {
			err = errors.Join(err, c.Delete(qdisc.At{Link: index, Parent: s.Parent, Handle: s.Handle}))
		}
	}
	return err
}
