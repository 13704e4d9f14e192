// Package scenario is the lab's file format: parse (strict YAML), validate, expand
// into cells.
//
// It runs nothing and knows no kernel; lab/kernel/world builds the Cell.
//
// Its trap: a Cell has no defaults. Expansion writes whatever a world needs into it, so
// that a result can be run again from its cell alone.
package scenario
