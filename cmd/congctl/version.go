package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/loop/kernel/enforce"
)

// Version is the answer of version.
type Version struct {
	Version  string      `json:"version"`
	Commit   string      `json:"commit"`   // "" if the build does not tell
	Go       string      `json:"go"`       // of the compiler
	Platform string      `json:"platform"` // system/architecture
	Tiers    []KnownTier `json:"kernel_tiers"`
}

// KnownTier is a kernel tier of this version.
type KnownTier struct {
	Tier enforce.Tier `json:"tier"`
	From string       `json:"from"`
	Does string       `json:"does"`
}

// knownTiers are those of docs/tiers.md, the best first.
var knownTiers = []KnownTier{
	{enforce.TierFull, "Linux 6.12", "treats by eBPF, gives back callbacks that another program took"},
	{enforce.TierGood, "Linux 5.15 with BTF", "treats by eBPF"},
	{enforce.TierObserve, "older, no BBR, or no permission", "measures and decides, treats nothing"},
}

// pseudoVersion is how Go names a commit without a tag: time and hash.
var pseudoVersion = regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})(?:\+|$)`)

func newVersion(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, commit, compiler, and the kernel tiers that it knows",
		Example: "  congctl version\n  congctl version -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo()
			v := versionInfo(info)
			return g.print(cmd, v, v.write)
		},
	}
}

// versionInfo asks the build where the Makefile has not set the variables: go install
// notes the module's version, go build in a checkout the commit.
func versionInfo(info *debug.BuildInfo) Version {
	v := Version{version, commit, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, knownTiers}
	if info == nil {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v.Commit == "" {
			v.Commit = s.Value
		}
	}
	if main := info.Main.Version; v.Version == "devel" && main != "" && main != "(devel)" {
		v.Version = main
		if hash := pseudoVersion.FindStringSubmatch(main); hash != nil && v.Commit == "" {
			v.Commit = hash[1]
		}
	}
	return v
}

func (v Version) write(w io.Writer) error {
	fmt.Fprintf(w, "version   %s\ncommit    %s\nbuilt by  %s, %s\n\n", v.Version, cmp.Or(v.Commit, "unknown"), v.Go, v.Platform)
	var rows [][]string
	for _, t := range v.Tiers {
		rows = append(rows, []string{t.Tier.String(), t.From, t.Does})
	}
	return answer.Table(w, "TIER FROM DOES", rows)
}
