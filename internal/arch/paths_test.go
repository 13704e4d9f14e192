package arch

import (
	"bytes"
	"regexp"
)

// machinePath finds paths of the machine that somebody worked on. The pattern
// is written so that it does not find itself.
var machinePath = regexp.MustCompile(`(^|[^A-Za-z0-9_.$})-])/(work|root|home/[a-z]+|tmp/bash_[j]obs)(/|\.[0-9]|$)`)

var machinePathRule = rule{
	name:  "no machine paths",
	check: checkMachinePaths,
	planted: []plant{
		{"README.md", "x\nsee `" + "/wor" + "k/main" + "`\n"},
		{"internal/loop/policy/testdata/a", "/roo" + "t/go/pkg\n"},
		{"Makefile", "cd " + "/tmp/bash" + "_jobs.0\n"},
		{".ci/run", "ls " + "/home/" + "me/x\n"},
	},
	clean: []plant{
		{"README.md", "see docs/work/a.md and $HOME/root/x, /var/lib/congctl, https://example.org/work/x\n"},
	},
}

func checkMachinePaths(files []*file) (faults []string) {
	for _, f := range files {
		for i, line := range bytes.Split(f.src, []byte("\n")) {
			if m := machinePath.Find(line); m != nil {
				faults = append(faults, f.fault(i+1, "path of somebody's machine: %q", m))
			}
		}
	}
	return faults
}
