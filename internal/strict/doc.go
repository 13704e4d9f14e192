// Package strict reads YAML that a person wrote: it collects all faults with their lines,
// and each says what to write instead.
//
// It knows no format: each format has its own keys and quantities.
//
// Its trap: yaml's own decoder would stop at the first fault and name no field, so nothing
// here decodes into a value of Go.
package strict
