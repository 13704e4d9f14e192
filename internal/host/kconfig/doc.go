// Package kconfig reads kernel configurations, reports whether one has what BBR, fq and the
// others need, writes the fragment that adds it, and finds the symbols of a fragment that a
// build dropped.
//
// It is not Kconfig: it knows some twenty symbols and their dependencies, not the language,
// and cannot predict what `make olddefconfig` will do. It only reads the result.
//
// Its trap: a fragment is a request. A symbol whose dependency is unmet is dropped without
// an error, so [Compare] looks at the resulting configuration, never at the fragment that
// went in.
package kconfig
