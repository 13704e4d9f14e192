package limit

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/shape"
)

// View reads a link, and its ifb if that queues what the link receives, for people; with the
// differences from the journals.
func (h *Host) View(name string) (v shape.View, err error) {
	l, err := Read(name)
	if err != nil {
		return v, err
	}
	ifb, err := incoming(l)
	if err != nil {
		return v, err
	}
	v = shape.NewView(l, ifb)
	says, err := h.Differs(name)
	if err != nil {
		says = append(says, fmt.Sprintf("not compared with the journals: %s", err))
	}
	v.Warnings = append(append(v.Warnings, h.unconfirmed(name)...), says...)
	return v, nil
}

// NeedsRoot explains the kernel's EPERM: which privilege is missing.
func NeedsRoot(err error) error {
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: needs root, or CAP_NET_ADMIN in this network namespace: use sudo; for a container, docker run --cap-add NET_ADMIN", err)
	}
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EROFS) {
		return fmt.Errorf("%w: needs root and a writable state directory", err)
	}
	return err
}

// Differs returns where a link differs from its journals, and what to do. It returns nothing to
// a user that may not read the journals.
func (h *Host) Differs(link string) (says []string, err error) {
	open, err := h.engine.Open(subject(link))
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	for _, j := range open {
		if j.Phase != change.Applied {
			says = append(says, fmt.Sprintf("%s (%s) is unfinished (phase %s): congctl shape clear %s undoes it; --force also restores what others changed since", j.ID, j.Verb, j.Phase, link))
		}
	}
	for _, s := range shouldHold(open, h.boot) {
		now, e := h.engine.Read(s.Kind, s.Target)
		if s.Kind.Volatile() && !now.Present {
			continue // gone with a link that had this name
		}
		if e == nil && !s.Kind.Same(s.New, now) {
			says = append(says, differs(link, s, now))
		}
		err = errors.Join(err, e)
	}
	return says, err
}

// shouldHold returns the newest write of each target that should still hold, after several
// changes and the boots between them.
func shouldHold(open []*change.Journal, boot string) (steps []change.Step) {
	at := ""
	for _, j := range open {
		if j.Phase != change.Applied {
			continue
		}
		if at != "" && at != j.Boot {
			steps = afterBoot(steps)
		}
		at = j.Boot
		steps = append(steps, j.Steps...)
	}
	if at != boot {
		steps = afterBoot(steps)
	}
	return newest(steps)
}

// afterBoot: a boot clears what was set on a link, except what was in place when the newest
// file that keeps it was written. Over SSH that is a change of its own.
func afterBoot(steps []change.Step) (left []change.Step) {
	keeper := -1
	for i, s := range steps {
		if keeps(s) && !writtenIn(s, steps[i+1:]) {
			keeper = i
		}
	}
	for i, s := range steps {
		if i < keeper || !s.Kind.Volatile() {
			left = append(left, s)
		}
	}
	return left
}

// keeps reports whether a step makes a boot set the limit. A file from which an earlier limit
// was stripped does not.
func keeps(s change.Step) bool {
	rest, there := shape.Without(s.New.Text)
	return s.Kind == change.File && s.New.Present && (!there || rest != s.New.Text)
}

func writtenIn(s change.Step, later []change.Step) bool {
	return slices.ContainsFunc(later, func(t change.Step) bool { return t.String() == s.String() })
}

func newest(steps []change.Step) (left []change.Step) {
	for i, s := range steps {
		if !writtenIn(s, steps[i+1:]) {
			left = append(left, s)
		}
	}
	return left
}

func differs(link string, s change.Step, now change.Value) string {
	force := ""
	if !s.Kind.Same(s.Old, now) {
		force = " --force"
	}
	return fmt.Sprintf("%s %s is %s, but congctl set %s: it was changed since, or the last boot did not set it; congctl shape clear %s%s removes the limit, congctl shape set sets it again (--replace for a root that is not the kernel's own)",
		shape.Name(s.Kind), s.Target, shape.Words(s.Kind, now), shape.Words(s.Kind, s.New), link, force)
}
