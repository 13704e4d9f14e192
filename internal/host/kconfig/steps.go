package kconfig

import (
	"embed"
	"fmt"
	"strings"
	"text/template"
)

//go:embed steps yocto
var texts embed.FS

// buildID marks a self-built kernel in `uname -r`: a rebuilt kernel with the old name would
// be taken for the old one.
const buildID = "congctl"

// steps reads those of a way to build a kernel from steps/TARGET.txt: a paragraph for each,
// with its commands indented. A person types each command; congctl runs none.
func steps(d *Document, list []Feature) (steps []Step, err error) {
	// Not in a variable of the package, or each build would have text/template.
	stepTexts := template.Must(template.ParseFS(texts, "steps/*.txt"))
	var b strings.Builder
	if err := stepTexts.ExecuteTemplate(&b, d.Target+".txt", map[string]any{
		"ID": buildID, "Fragment": d.Files[0].Path, "Builtin": d.Builtin, "Modules": modulesOf(list),
		"Running": "congctl host kernel check --running --for " + strings.Join(d.Features, ","), // what the fragment adds
	}); err != nil {
		return nil, fmt.Errorf("write steps: %w", err)
	}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(b.String()), "\n\n") {
		what, commands, _ := strings.Cut(paragraph, "\n\t")
		steps = append(steps, Step{what, strings.Split(commands, "\n\t")})
	}
	return steps, nil
}
