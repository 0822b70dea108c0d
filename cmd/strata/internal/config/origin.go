package config

import (
	"errors"
	"fmt"
)

// Origin is where a value came from. The zero Origin is the built-in default.
type Origin struct {
	Source string // a file's path, an environment variable's name, or a flag with its dashes
	Line   int    // 1-based; 0 outside files
	Column int    // 1-based, in characters; 0 outside files
}

// String returns the origin as --print-config shows it: "default", file:line, the variable's or the flag's name.
func (o Origin) String() string {
	switch {
	case o.Source == "":
		return "default"
	case o.Line == 0:
		return o.Source
	}
	return fmt.Sprintf("%s:%d", o.Source, o.Line)
}

// commands reports whether a variable or a flag gave the value.
func (o Origin) commands() bool { return o.Source != "" && o.Line == 0 }

// Error is a problem in the configuration, with its place.
type Error struct {
	Origin Origin
	Key    string // dotted; empty if the place says enough
	Err    error
}

// Error begins with the file, line and column, as editors expect, or with the variable or flag.
func (e *Error) Error() string {
	place := e.Origin.String()
	if e.Origin.Line > 0 {
		place = fmt.Sprintf("%s:%d", place, e.Origin.Column)
	}
	if e.Key == "" || e.Origin.commands() {
		return fmt.Sprintf("%s: %v", place, e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", place, e.Key, e.Err)
}

// Unwrap returns the problem without its place.
func (e *Error) Unwrap() error { return e.Err }

// maxErrors bounds how many problems of one configuration are reported.
const maxErrors = 20

// problems collects errors, so that a user can correct all of them in one go.
type problems []error

func (p *problems) add(o Origin, key string, err error) {
	if len(*p) < maxErrors {
		*p = append(*p, &Error{Origin: o, Key: key, Err: err})
	}
}

func (p problems) err() error { return errors.Join(p...) }
