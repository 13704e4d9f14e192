package shape

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/congctl/congctl/internal/core/change"
	"github.com/congctl/congctl/internal/core/shaping"
)

// Differs tells what of a link is not as the journals have it, and what to do. Who may not
// read the journals is told nothing.
func (h *Host) Differs(link string) (says []string, err error) {
	open, err := h.engine.Open(subject(link))
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	for _, j := range open {
		if j.Phase != change.Applied {
			says = append(says, fmt.Sprintf("%s (%s) is %s and not ended: congctl shape clear %s takes it back, with --force what somebody changed since, too", j.ID, j.Verb, j.Phase, link))
		}
	}
	for _, s := range shouldHold(open, link, h.boot) {
		now, e := h.engine.Read(s.Kind, s.Target)
		if e == nil && !s.Kind.Same(s.New, now) {
			says = append(says, differs(link, s, now))
		}
		err = errors.Join(err, e)
	}
	return says, err
}

// shouldHold gives the newest write of each target that should still be there, of several
// changes and the boots between them.
func shouldHold(open []*change.Journal, link, boot string) (steps []change.Step) {
	at := ""
	for _, j := range open {
		if j.Phase != change.Applied {
			continue
		}
		if at != "" && at != j.Boot {
			steps = afterBoot(steps, link)
		}
		at = j.Boot
		steps = append(steps, j.Steps...)
	}
	if at != boot {
		steps = afterBoot(steps, link)
	}
	return newest(steps)
}

// afterBoot: a boot takes away what was set on a link, but for what stood there when the
// newest file was written that keeps it. Over SSH that is a change of its own.
func afterBoot(steps []change.Step, link string) (left []change.Step) {
	keeper := -1
	for i, s := range steps {
		if keeps(s, link) && !writtenIn(s, steps[i+1:]) {
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

// keeps tells whether a step has a boot set the limit. A file that was stripped of an
// earlier one does not.
func keeps(s change.Step, link string) bool {
	rest, there := shaping.Without(link, s.New.Text)
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
	return fmt.Sprintf("%s %s is %s, and congctl made it %s: somebody changed it since, or a boot did not set it; congctl shape clear %s%s takes the limit back, congctl shape set (--replace for a root that is not the kernel's) sets it again",
		Name(string(s.Kind)), s.Target, ValueWords(s.Kind, now), ValueWords(s.Kind, s.New), link, force)
}
