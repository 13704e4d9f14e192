package shaping

import (
	"path"
	"strings"
)

// written begins every file that is ours as a whole.
const written = "# Written by congctl shape set; congctl shape clear removes it.\n"

// Keeping lists the files that an earlier limit of a link may be kept by, of all keepers:
// who runs the host may be another since.
func Keeping(link string, b Boot) (paths []string) {
	if b.NetworkFile != "" {
		paths = append(paths, dropIn(b))
	}
	if b.Keyfile != "" {
		paths = append(paths, b.Keyfile)
	}
	unit, wants := units(link)
	paths = append(paths, unit, wants, localStart(link))
	if b.RCLocal != "" {
		paths = append(paths, b.RCLocal)
	}
	return paths
}

// Without gives a file without what keeps the limit of a link, and whether anything is
// left of it. One in which nothing of ours stands comes back as it is.
func Without(link, text string) (rest string, there bool) {
	if strings.HasPrefix(strings.TrimPrefix(text, shebang), written) {
		return "", false
	}
	rest = withoutLine(link, oursInKeyfile.ReplaceAllString(text, "\n"))
	if rest == shebang && rest != text {
		return "", false // an rc.local that was made for our line
	}
	return rest, true
}

// Alone tells whether a directory is there only for our file in it.
func Alone(dir string) bool {
	ext := path.Ext(strings.TrimSuffix(dir, ".d"))
	return strings.HasSuffix(dir, ".d") && (ext == ".device" || ext == ".network")
}
