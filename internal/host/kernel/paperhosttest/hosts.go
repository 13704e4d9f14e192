package paperhost

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/congctl/congctl/internal/kernel/host"
)

//go:embed hosts/*.host
var hosts embed.FS

// Names lists the hosts that tests share, by name: "debian12", "container".
func Names() (names []string) {
	files, _ := fs.Glob(hosts, "hosts/*.host")
	for _, f := range files {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(f, "hosts/"), ".host"))
	}
	return names
}

// Text is the text of one of Names.
func Text(name string) (string, error) {
	b, err := hosts.ReadFile("hosts/" + name + ".host")
	if err != nil {
		return "", fmt.Errorf("read host %s: there are %s", name, strings.Join(Names(), ", "))
	}
	return string(b), nil
}

// Load gives one of Names.
func Load(name string) (host.Host, error) {
	text, err := Text(name)
	if err != nil {
		return host.Host{}, err
	}
	return Parse(text)
}
