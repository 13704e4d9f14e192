// Package kconfig reads kernel configurations, says whether one has what BBR, fq and the
// others need, writes the fragment that adds it, and tells which symbols of a fragment a
// build has dropped.
//
// It is no Kconfig: it knows some twenty symbols with what they depend on, not the
// language, and cannot say what `make olddefconfig` will do. It only reads what came out.
//
// Its trap: a fragment is a wish. A symbol whose dependency is unmet is dropped without
// an error, so [Compare] looks at the resulting configuration, never at the fragment
// that went in.
package kconfig
