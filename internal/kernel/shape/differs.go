package shape

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/congctl/congctl/internal/core/change"
)

// Differs tells what of a link is not as the journals have it, and what to do. Who may not
// read the journals is told nothing.
func (h *Host) Differs(link string) (says []string, err error) {
	open, err := h.engine.Open(subject(link))
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	var last []change.Step // the newest write of each target
	for _, j := range open {
		if j.Phase != change.Applied {
			says = append(says, fmt.Sprintf("%s (%s) is %s and not ended: congctl shape clear %s takes it back, with --force what somebody changed since, too", j.ID, j.Verb, j.Phase, link))
			continue
		}
		last = slices.DeleteFunc(last, func(s change.Step) bool {
			return slices.ContainsFunc(j.Steps, func(t change.Step) bool { return s.String() == t.String() })
		})
		last = append(last, h.since(j)...)
	}
	for _, s := range last {
		now, e := h.engine.Read(s.Kind, s.Target)
		if e == nil && !s.Kind.Same(s.New, now) {
			says = append(says, differs(link, s, now))
		}
		err = errors.Join(err, e)
	}
	return says, err
}

// since are the steps that should still hold: a boot takes a link's away, but for what the
// same change keeps.
func (h *Host) since(j *change.Journal) []change.Step {
	if j.Boot == h.boot || slices.ContainsFunc(j.Steps, func(s change.Step) bool { return s.Kind == change.File && s.New.Present }) {
		return slices.Clone(j.Steps)
	}
	return slices.DeleteFunc(slices.Clone(j.Steps), func(s change.Step) bool { return s.Kind.Volatile() })
}

func differs(link string, s change.Step, now change.Value) string {
	force := ""
	if !s.Kind.Same(s.Old, now) {
		force = " --force"
	}
	return fmt.Sprintf("%s %s is %s, and congctl made it %s: somebody changed it since, or a boot did not set it; congctl shape clear %s%s takes the limit back, congctl shape set (--replace for a root that is not the kernel's) sets it again",
		Name(string(s.Kind)), s.Target, ValueWords(s.Kind, now), ValueWords(s.Kind, s.New), link, force)
}
