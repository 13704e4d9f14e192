package shape

import (
	"errors"
	"fmt"
	"slices"

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
	if inner == "" {
		inner = "-"
	}
	kept := qdisc.Tbf{RateBytesPerS: t.Rate.BytesPerS(), BurstBytes: uint32(t.Burst), LimitBytes: uint32(t.Limit)}.Kept()
	return text(kept, inner)
}

func text(t qdisc.Tbf, inner string) string {
	return fmt.Sprintf("%s%d %d %d %s", shaped, t.RateBytesPerS, t.BurstBytes, t.LimitBytes, inner)
}

func parseValue(v string) (t qdisc.Tbf, inner string, err error) {
	n, err := fmt.Sscanf(v, shaped+"%d %d %d %s", &t.RateBytesPerS, &t.BurstBytes, &t.LimitBytes, &inner)
	if err != nil || n != 4 || v != text(t, inner) {
		return t, "", fmt.Errorf("parse setting %q: not a rate, a burst, a limit and a kind", v)
	}
	if inner == "-" {
		inner = ""
	} else if !slices.Contains(shaping.Inners, inner) {
		return t, "", fmt.Errorf("parse setting %q: %q cannot hang below a bucket", v, inner)
	}
	return t, inner, nil
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
	inner := "-"
	if len(all) > 1 && all[1].Handle == qdisc.Handle(shaping.ChildHandle) {
		inner = all[1].Kind
	}
	return text(t, inner), nil
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
	t, inner, err := parseValue(v)
	if err != nil {
		return err
	}
	root := qdisc.At{Link: index, Parent: qdisc.Root, Handle: qdisc.Handle(shaping.Handle)}
	child := qdisc.At{Link: index, Parent: qdisc.Child(root.Handle), Handle: qdisc.Handle(shaping.ChildHandle)}
	// A child that is taken from a tbf leaves a noop behind, which drops everything, and only
	// a change of the tbf puts a fifo in its place: so the child goes first.
	if _, err := c.Get(index, child.Handle); err == nil && inner != "fq_codel" {
		if err := c.Delete(child); err != nil {
			return err
		}
	}
	if err := c.Replace(root, t); err != nil || inner != "fq_codel" {
		return err
	}
	return c.Replace(child, qdisc.FqCodel{ECN: true})
}
