package shaping

import (
	"fmt"
	"slices"
	"strings"
)

// readers are who keep limits by files that they have in memory, and what makes them read
// again. A script is read when it runs.
var readers = []struct {
	dir     string
	keeper  Keeper
	command string
}{
	{"/etc/systemd/network/", Networkd, "networkctl reload"},
	{"/etc/NetworkManager/", NetworkManager, "nmcli connection reload"},
	{"/etc/systemd/system/", Systemd, "systemctl daemon-reload"},
}

// Reread says of files that were written or taken away who goes by what stood there
// before, until which command or its next start.
func Reread(paths []string) (notes []string) {
	for _, r := range readers {
		if slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, r.dir) }) {
			notes = append(notes, fmt.Sprintf("%s goes by its files of before until it starts again, or: sudo %s", r.keeper, r.command))
		}
	}
	return notes
}
