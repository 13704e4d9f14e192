package carry

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/linux/nsthread"
)

// Kept is one journal in the directory.
type Kept struct {
	ID      string
	Journal *change.Journal // nil if it is not to be believed
	Why     error           // it is not
}

// of reports whether the journal is of a subject, as its name has it.
func (k Kept) of(subject string) bool {
	_, name, _ := strings.Cut(k.ID, "-")
	return name == nameOf(subject)
}

func nameOf(subject string) string { return strings.ReplaceAll(subject, " ", "-") }

// All reads all journals, oldest first, with those that are damaged or that somebody else could
// have written.
func (s journals) All() (list []Kept, err error) {
	names, err := s.disk.List(s.dir)
	if err == nil && len(names) > 0 {
		err = s.disk.Own(s.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("list journals: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		id, ok := strings.CutSuffix(name, suffix)
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		k := Kept{ID: id}
		k.Journal, k.Why = s.read(id)
		if errors.Is(k.Why, fs.ErrPermission) {
			return nil, fmt.Errorf("list journals: %w", k.Why)
		}
		list = append(list, k)
	}
	return list, nil
}

// read reads a journal, if only root, or the user that this process runs as, wrote it.
func (s journals) read(id string) (*change.Journal, error) {
	text, err := s.disk.ReadOwn(s.path(id))
	if err != nil {
		return nil, err
	}
	j, err := change.Parse(text)
	if err == nil && j.ID != id { // what is written next would go to another one
		return nil, fmt.Errorf("it has the change %s", j.ID)
	}
	return j, err
}

// Here reads all journals but those of links that this boot has in another network namespace.
func (e *Engine) Here() (list []Kept, err error) {
	here, err := nsthread.Identity()
	if err == nil {
		list, err = e.All()
	}
	return slices.DeleteFunc(list, func(k Kept) bool {
		j := k.Journal
		return j != nil && j.Link != nil && j.Header.Boot == e.boot && j.Netns != here
	}), err
}

// DamagedError names journals of a subject that are not to be believed.
type DamagedError struct {
	Dir  string
	Kept []Kept
}

func (d DamagedError) Error() string {
	var all []string
	for _, k := range d.Kept {
		all = append(all, fmt.Sprintf("journal %s is not believed, and its change is not undone: %s; mend it, or set it aside: %s", k.ID, k.Why, d.fix(k.ID)))
	}
	return strings.Join(all, "\n")
}

func (d DamagedError) fix(id string) string {
	fix := "congctl change forget " + id
	if d.Dir != DefaultDir {
		fix += " --changes " + d.Dir
	}
	return fix
}

// Open returns the changes of a subject that are in force or unfinished, oldest first.
// Each but the last is applied; there are several if a later plan found that the host had
// changed and wrote what was missing. With a [DamagedError] they are not all. Those of
// another namespace's link are not among them.
func (e *Engine) Open(subject string) (open []*change.Journal, err error) {
	list, err := e.Here()
	var bad []Kept
	for _, k := range list {
		if j := k.Journal; j != nil && j.Phase != change.Gone && e.today != nil {
			e.today(j)
		}
		switch {
		case errors.Is(k.Why, change.ErrTorn): // nothing was changed
		case k.Why != nil && k.of(subject):
			bad = append(bad, k)
		case k.Why == nil && k.Journal.Subject == subject && k.Journal.Phase != change.Gone:
			open = append(open, k.Journal)
		}
	}
	if len(bad) > 0 {
		err = DamagedError{e.dir, bad}
	}
	return open, err
}

// ErrNoJournal means that there is no journal of an ID.
var ErrNoJournal = errors.New("no such journal")

// forgotten is behind the name of a journal that was set aside.
const forgotten = ".forgotten"

// Forget sets a journal aside, whatever it is: nothing undoes its change any more. The file
// stays, under another name.
func (e *Engine) Forget(id string) (file string, err error) {
	names, err := e.disk.List(e.dir)
	if err != nil {
		return "", fmt.Errorf("list journals: %w", err)
	}
	if !slices.Contains(names, id+suffix) {
		return "", fmt.Errorf("forget %q in %s: %w", id, e.dir, ErrNoJournal)
	}
	file = e.path(id) + forgotten
	err = inOrder(e.disk,
		Op{Kind: OpRename, Path: e.path(id), To: file},
		Op{Kind: OpSync, Path: e.dir})
	if err != nil {
		return "", fmt.Errorf("forget %s: %w", id, err)
	}
	return file, nil
}
