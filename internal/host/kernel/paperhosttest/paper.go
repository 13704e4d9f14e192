package paperhosttest

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/host/advise"
)

// Read returns a file's text; a link's is its target's.
func (p *Paper) Read(name string) (string, error) {
	for range 8 { // as many links as anybody needs; a circle has no text
		f, ok := p.files[name]
		switch {
		case !ok:
			return "", fs.ErrNotExist
		case f.err != nil:
			return "", f.err
		case f.link == "/dev/null":
			return "", nil
		case f.link == "":
			return f.text, nil
		case path.IsAbs(f.link):
			name = f.link
		default:
			name = path.Join(path.Dir(name), f.link)
		}
	}
	return "", fs.ErrInvalid
}

// List returns the names directly in a directory, which exists if something is in it.
func (p *Paper) List(dir string) (names []string, err error) {
	if f, ok := p.files[dir]; ok && f.err != nil {
		return nil, f.err
	}
	for name, f := range p.files {
		if f.err == fs.ErrNotExist {
			continue
		}
		if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(dir, "/")+"/"); ok {
			first, _, _ := strings.Cut(rest, "/")
			names = append(names, first)
		}
	}
	if names == nil {
		return nil, fs.ErrNotExist
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Look returns where a symbolic link points, and whether a file may be run.
func (p *Paper) Look(name string) (link string, exec bool) {
	f := p.files[name]
	if f.link != "" && !path.IsAbs(f.link) {
		return f.link, p.files[path.Join(path.Dir(name), f.link)].exec
	}
	return f.link, f.exec || p.files[f.link].exec
}

// Links are those of the section links.
func (p *Paper) Links() ([]advise.Link, error) { return p.links, p.errs["links"] }

// Sockets are those of the section sockets.
func (p *Paper) Sockets() (advise.Sockets, error) { return p.sockets, p.errs["sockets"] }

// Spaces are those of the section spaces.
func (p *Paper) Spaces() ([]advise.Space, error) { return p.spaces, p.errs["spaces"] }

// Tier is that of the section loop.
func (p *Paper) Tier() (string, []string, error) { return p.tier, p.reasons, p.errs["loop"] }

// SockOps are those of the section loop.
func (p *Paper) SockOps() ([]advise.Program, error) { return p.others, p.errs["loop"] }
