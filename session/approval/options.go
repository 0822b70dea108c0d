package approval

import (
	"fmt"

	"strata/internal/clip"
)

// Option is an answer that the user can give to a question.
type Option struct {
	ID   string
	Kind string // of ACP
	Name string

	Allows bool
	Rule   Rule // added to the session's rules; the zero Rule for none
}

// The kinds of options that ACP has and that are offered.
const (
	kindAllowOnce   = "allow_once"
	kindAllowAlways = "allow_always"
	kindRejectOnce  = "reject_once"
)

// Options returns the answers to a Decision that Asks.
func (d *Decision) Options() []Option {
	options := []Option{{ID: "allow_once", Kind: kindAllowOnce, Name: "Allow once", Allows: true}}
	for _, rule := range d.Always {
		id := "allow_always"
		if rule.begins {
			id = "allow_always_beginning"
		}
		options = append(options, Option{ID: id, Kind: kindAllowAlways, Name: rule.always(), Allows: true, Rule: rule})
	}
	return append(options, Option{ID: "reject_once", Kind: kindRejectOnce, Name: "Reject"})
}

// Option returns the answer with an id. The error is for who gave the id.
func (d *Decision) Option(id string) (Option, error) {
	for _, option := range d.Options() {
		if option.ID == id {
			return option, nil
		}
	}
	return Option{}, fmt.Errorf("optionId %q was not offered", clip.Name(id))
}

// always returns the name of the answer that makes the rule.
func (r Rule) always() string {
	switch {
	case r.line == "":
		return fmt.Sprintf("Always allow %s in this session", r.tool)
	case r.begins:
		return fmt.Sprintf("Always allow commands that begin with %q in this session", r.line)
	}
	return "Always allow this command line in this session"
}
