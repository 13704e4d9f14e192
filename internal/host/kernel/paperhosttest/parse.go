package paperhosttest

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/host/kernel/inspect"
)

// Parse reads a host from its text.
func Parse(text string) (inspect.Host, error) {
	p := &Paper{files: map[string]file{}, errs: map[string]error{}, sockets: advise.Sockets{ByCong: map[string]int{}}, tier: "full"}
	if err := p.sections(ordinary); err != nil {
		return inspect.Host{}, err
	}
	if err := p.sections(text); err != nil {
		return inspect.Host{}, err
	}
	return inspect.Host{Files: p, Network: p, Programs: p}, nil
}

// Paper is a host on paper.
type Paper struct {
	files   map[string]file
	errs    map[string]error // by the name of a section that cannot be asked
	links   []advise.Link
	sockets advise.Sockets
	spaces  []advise.Space
	tier    string
	reasons []string
	others  []advise.Program
}

type file struct {
	text string
	link string
	exec bool
	err  error
}

// failures are the reasons that a section may have.
var failures = map[string]error{"not there": fs.ErrNotExist, "not permitted": unix.EACCES, "read-only": unix.EROFS}

func (p *Paper) sections(text string) error {
	parts := strings.Split("\n"+strings.TrimSuffix(text, "\n"), "\n-- ")
	for _, part := range parts[1:] {
		head, body, _ := strings.Cut(part, "\n")
		name, closed := strings.CutSuffix(strings.TrimRight(head, " "), " --")
		if !closed {
			return fmt.Errorf("parse host: %q opens a section and lacks its closing \" --\"", "-- "+head)
		}
		if err := p.section(name, body); err != nil {
			return fmt.Errorf("parse host: section %s: %w", name, err)
		}
	}
	return nil
}

func (p *Paper) section(head, body string) error {
	name, reason, failed := strings.Cut(head, " ! ")
	err := failures[reason]
	if failed && err == nil {
		return fmt.Errorf("reason %q: use not there, not permitted or read-only", reason)
	}
	if strings.HasPrefix(name, "/") {
		if body != "" {
			body += "\n"
		}
		return p.file(name, body, err)
	}
	p.errs[name] = err
	read, ok := map[string]func(string) error{"sysctl": p.setting, "links": p.link, "sockets": p.socket, "spaces": p.space, "loop": p.loop}[name]
	if !ok {
		return fmt.Errorf("use a path, sysctl, links, sockets, spaces or loop")
	}
	for line := range strings.SplitSeq(body, "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := read(line); err != nil {
			return fmt.Errorf("line %q: %w", line, err)
		}
	}
	return nil
}

func (p *Paper) file(name, text string, err error) error {
	name, link, _ := strings.Cut(name, " -> ")
	name, exec := strings.CutSuffix(name, " *")
	if path.Clean(name) != name {
		return fmt.Errorf("file %s: write it as %s", name, path.Clean(name))
	}
	p.files[name] = file{text, link, exec, err}
	return nil
}

func (p *Paper) setting(line string) error {
	key, value, ok := strings.Cut(line, "=")
	value = strings.TrimSpace(value)
	reason, failed := strings.CutPrefix(value, "! ")
	if !ok || failed && failures[reason] == nil {
		return fmt.Errorf("use key = value, or key = ! not there")
	}
	p.files[inspect.SysctlPath(strings.TrimSpace(key))] = file{text: value + "\n", err: failures[reason]}
	return nil
}

func (p *Paper) space(line string) error {
	w := strings.Fields(line)
	if len(w) != 2 {
		return fmt.Errorf("use name and congestion control")
	}
	p.spaces = append(p.spaces, advise.Space{Name: w[0], Current: w[1]})
	return nil
}

func (p *Paper) loop(line string) error {
	key, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch key {
	case "tier":
		p.tier = rest
	case "reason":
		p.reasons = append(p.reasons, rest)
	case "sock_ops":
		var o advise.Program
		if _, err := fmt.Sscan(rest, &o.ID, &o.Name); err != nil {
			return fmt.Errorf("use sock_ops ID NAME: %w", err)
		}
		p.others = append(p.others, o)
	default:
		return fmt.Errorf("use tier, reason or sock_ops")
	}
	return nil
}
