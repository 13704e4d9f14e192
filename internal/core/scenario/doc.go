// Package scenario is the lab's file format: parse (strict YAML), validate, expand
// into cells.
//
// It runs nothing and knows no kernel; kernel/world builds what a Cell says.
//
// Its trap: a Cell has no defaults. Whatever a world needs is written into it when
// the file is expanded, so that a result can be run again from its cell alone.
package scenario
