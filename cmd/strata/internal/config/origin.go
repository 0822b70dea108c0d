package config

import (
	"errors"
	"fmt"
)

// Origin says where a value came from. The zero Origin is the built-in default.
type Origin struct {
	Source string // a file's path, an environment variable's name, or a flag with its dashes
	Line   int    // 1-based; 0 outside files
	Column int    // 1-based, in characters; 0 outside files
}

// String gives the origin as --print-config shows it: "default", file:line, the variable's or the flag's name.
func (o Origin) String() string {
	switch {
	case o.Source == "":
		return "default"
	case o.Line == 0:
		return o.Source
	}
	return fmt.Sprintf("%s:%d", o.Source, o.Line)
}

// place gives the origin as errors show it, with the column.
func (o Origin) place() string {
	if o.Line == 0 {
		return o.String()
	}
	return fmt.Sprintf("%s:%d:%d", o.Source, o.Line, o.Column)
}

// Error is one thing that is wrong in the configuration, and where.
type Error struct {
	Origin Origin
	Key    string // dotted; empty where no key is at fault
	Err    error
}

// Error names the file with line and column, the variable or the flag first, so that editors can jump there.
// A variable and a flag say themselves which key they are for.
func (e *Error) Error() string {
	if e.Key == "" || e.Origin.commands() {
		return fmt.Sprintf("%s: %v", e.Origin.place(), e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", e.Origin.place(), e.Key, e.Err)
}

// Unwrap gives the problem without its place.
func (e *Error) Unwrap() error { return e.Err }

// maxErrors bounds how many problems of one configuration are told at once.
const maxErrors = 20

// problems collects what is wrong, so that a user can mend a file in one go.
type problems []error

func (p *problems) add(o Origin, key string, err error) {
	if len(*p) < maxErrors {
		*p = append(*p, &Error{Origin: o, Key: key, Err: err})
	}
}

func (p problems) err() error { return errors.Join(p...) }
