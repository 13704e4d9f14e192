package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// container is what compose.yml and daemonset.yml say of one, by either's names.
type container struct {
	Image   string
	Args    []string `yaml:"args"`
	Command []string `yaml:"command"`
	CapAdd  []string `yaml:"cap_add"`

	LivenessProbe struct{ Exec struct{ Command []string } } `yaml:"livenessProbe"`

	SecurityContext struct {
		Capabilities struct{ Add []string }
	} `yaml:"securityContext"`
}

// TestManifests: what the units, the compose file and the manifest run are command lines that
// congctl takes, with no capability that the unit does not have. No engine runs here: the rest
// of the files is only parsed.
func TestManifests(t *testing.T) {
	var compose struct{ Services map[string]container }
	var set struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []container }
			}
		}
	}
	parseFile(t, "packaging/container/compose.yml", &compose)
	parseFile(t, "packaging/kubernetes/daemonset.yml", &set)
	all := set.Spec.Template.Spec.Containers
	for _, c := range compose.Services {
		all = append(all, c)
	}
	ours := 0
	for _, c := range all {
		if c.Image != "congctl" {
			continue
		}
		ours++
		args := append(c.Args, c.Command...)
		takes(t, args)
		if probe := c.LivenessProbe.Exec.Command; len(probe) > 0 {
			takes(t, probe[1:])
		}
		granted := capabilities(t, args[0])
		for _, name := range append(c.CapAdd, c.SecurityContext.Capabilities.Add...) {
			if !slices.Contains(granted, "CAP_"+name) {
				t.Errorf("%v has CAP_%s, which its unit has not", args, name)
			}
		}
	}
	if want := 6; ours != want {
		t.Errorf("%d containers run congctl, want %d", ours, want)
	}
	for _, verb := range []string{"up", "agent", "controller", "ingest"} {
		takes(t, strings.Fields(unitLine(t, verb, `(?m)^ExecStart=/usr/local/bin/congctl (.*)$`)))
	}
}

func parseFile(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docsRoot, path))
	check(t, err)
	check(t, yaml.Unmarshal(text, into))
}

// takes finds the verb and parses its flags as a run would.
func takes(t *testing.T, args []string) {
	t.Helper()
	verb, rest, err := newRoot().Find(args)
	if err == nil {
		err = verb.ParseFlags(rest)
	}
	if err == nil {
		err = verb.Args(verb, verb.Flags().Args())
	}
	if err != nil || !verb.Runnable() {
		t.Errorf("congctl %s: %v", strings.Join(args, " "), err)
	}
}

func capabilities(t *testing.T, verb string) []string {
	t.Helper()
	if verb == "store" { // has no unit, needs nothing
		return nil
	}
	return strings.Fields(unitLine(t, verb, `(?m)^CapabilityBoundingSet=(.*)$`))
}

func unitLine(t *testing.T, verb, line string) string {
	t.Helper()
	name := map[bool]string{true: "congctl", false: "congctl-" + verb}[verb == "up"]
	unit, err := os.ReadFile(filepath.Join(docsRoot, "etc", name+".service"))
	check(t, err)
	found := regexp.MustCompile(line).FindStringSubmatch(string(unit))
	if found == nil {
		t.Fatalf("%s.service has no line %s", name, line)
	}
	return found[1]
}
