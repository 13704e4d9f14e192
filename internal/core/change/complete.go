package change

import (
	"fmt"
	"path"
	"slices"
)

// Read gives what a target has now.
type Read func(k Kind, target string) (Value, error)

// Complete makes steps with their new values alone into those of a plan: it fills in
// what is there now, keeps mode and owner of a file that exists, makes directories that
// are missing, and leaves out what is so already.
func Complete(wanted []Step, read Read) (steps []Step, err error) {
	for _, s := range wanted {
		if s.Old, err = read(s.Kind, s.Target); err != nil {
			return nil, fmt.Errorf("read %s: %w", s, err)
		}
		if s.Kind.Same(s.New, s.Old) {
			continue
		}
		if s.Kind == File && s.New.Present {
			if s.Old.Present {
				s.New.Mode, s.New.UID, s.New.GID = s.Old.Mode, s.Old.UID, s.Old.GID
			}
			if s.Old == s.New {
				continue
			}
			dirs, err := missingDirs(path.Dir(s.Target), steps, read)
			if err != nil {
				return nil, err
			}
			steps = append(steps, dirs...)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// missingDirs are the steps that make a directory with those above it, the highest first.
func missingDirs(dir string, have []Step, read Read) (steps []Step, err error) {
	for d := dir; d != "/" && d != "."; d = path.Dir(d) {
		v, err := read(Dir, d)
		if err != nil {
			return nil, fmt.Errorf("read directory %s: %w", d, err)
		}
		if v.Present || slices.ContainsFunc(have, func(s Step) bool { return s.Kind == Dir && s.Target == d }) {
			break
		}
		steps = append(steps, Step{Kind: Dir, Target: d, New: Value{Present: true, Mode: 0o755}, Why: "is not there"})
	}
	slices.Reverse(steps)
	return steps, nil
}
