package kconfig

import (
	"cmp"
	"strconv"
	"strings"
)

// Version of Linux: 4.9, or 2.6.14 where the third number matters. Zero is unknown, and
// before all others.
type Version [3]int

// ParseVersion reads the numbers at the start of a release, "6.1.0-56-cloud-amd64"; zero
// where there are none.
func ParseVersion(release string) (v Version) {
	for i, part := range strings.SplitN(release, ".", 3) {
		end := 0
		for end < len(part) && part[end] >= '0' && part[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(part[:end])
		if err != nil {
			break
		}
		v[i] = n
		if end < len(part) {
			break
		}
	}
	return v
}

// Before reports whether a version is older than another one.
func (v Version) Before(w Version) bool {
	for i := range v {
		if c := cmp.Compare(v[i], w[i]); c != 0 {
			return c < 0
		}
	}
	return false
}

// String is "" for a version that is unknown.
func (v Version) String() string {
	if v == (Version{}) {
		return ""
	}
	s := strconv.Itoa(v[0]) + "." + strconv.Itoa(v[1])
	if v[2] > 0 {
		s += "." + strconv.Itoa(v[2])
	}
	return s
}
