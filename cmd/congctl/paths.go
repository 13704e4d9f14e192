package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/pflag"
)

// path is the value of a flag that names a file or a folder. It is absolute from the
// moment it is set, because some tools that congctl starts run in a folder of their own.
// "-" (standard input) stays as it is.
type path struct{ to *string }

func (p path) String() string { return *p.to }
func (p path) Type() string   { return "path" }

func (p path) Set(value string) (err error) {
	switch value {
	case "":
		return errors.New("empty: name a file or a folder")
	case "-":
	default:
		value, err = filepath.Abs(value)
	}
	*p.to = value
	return err
}

// pathVar defines a flag for a path. Every flag that takes one is defined here.
func pathVar(f *pflag.FlagSet, to *string, name, shorthand, value, usage string) {
	*to = value
	f.VarP(path{to}, name, shorthand, usage)
}
