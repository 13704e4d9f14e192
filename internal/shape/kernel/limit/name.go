package limit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vishvananda/netlink"

	"github.com/congctl/congctl/internal/change"
)

// A link is its index: it has altnames, may be renamed, and another one may get its name. Verbs take its own name, which Resolve
// returns; journals and notes have its index as well, and nameToday turns that into the name of today.

const subjectWord = "shape "

func subject(link string) string { return subjectWord + link }

// Resolve returns the own name of the link that a word names: a name, an altname, or the name that a renamed link had when it was
// limited. A word that names none comes back as it is, since a link that is gone may have left files.
func (h *Host) Resolve(word string) (string, error) {
	l, err := find(word)
	if err == nil {
		return l.Attrs().Name, nil
	}
	if !errors.Is(err, ErrNoLink) {
		return "", err
	}
	list, err := h.engine.Here() // without the right to read them the verb says what it lacks
	for _, k := range list {
		if j := k.Journal; err == nil && j != nil && j.Subject == subject(word) && j.Phase != change.Gone {
			if name, there := h.nameToday(word, j.Header); there {
				return name, nil
			}
		}
	}
	return word, nil
}

// identity returns a link as a header has it, nil for one that is gone.
func identity(name string) *change.Link {
	l, err := find(name)
	if err != nil {
		return nil
	}
	return &change.Link{Index: l.Attrs().Index, Address: address(l.Attrs())}
}

// address is the one that a card was made with, if it has any: a bond gives its members another.
func address(a *netlink.LinkAttrs) string {
	if len(a.PermHWAddr) > 0 {
		return a.PermHWAddr.String()
	}
	return a.HardwareAddr.String()
}

// nameToday returns the present name of a link, and whether it is there. A header of another boot, or of an earlier version, has
// only the name. If another link has the name of one that is gone, the index tells them apart.
func (h *Host) nameToday(was string, head change.Header) (name string, there bool) {
	if head.Link == nil || head.Boot != h.boot {
		return was, true
	}
	l, err := netlink.LinkByIndex(head.Link.Index)
	if err != nil && !errors.As(err, new(netlink.LinkNotFoundError)) {
		return was, true
	}
	if err == nil && (l.Attrs().Name == was || address(l.Attrs()) == head.Link.Address) {
		return l.Attrs().Name, true
	}
	if _, err := netlink.LinkByName(was); err == nil {
		was = fmt.Sprintf("%s (index %d)", was, head.Link.Index)
	}
	return was, false
}

// today has a journal name its link as it is called today; it stays a journal of the old name if the link is gone.
func (h *Host) today(j *change.Journal) {
	was, is := strings.CutPrefix(j.Subject, subjectWord)
	if !is {
		return
	}
	name, there := h.nameToday(was, j.Header)
	if there {
		j.Subject = subject(name)
	}
	for i := range j.Steps {
		if s := &j.Steps[i]; s.Kind.Volatile() && s.Target == was {
			s.Target = name
		}
	}
}

// linkOf returns what the link of a journal is called now; link is its name when the journal was written.
func (h *Host) linkOf(link, id string) string {
	list, err := h.engine.Here()
	for _, k := range list {
		if err == nil && k.ID == id && k.Journal != nil {
			if name, there := h.nameToday(link, k.Journal.Header); there {
				return name
			}
		}
	}
	return link
}
