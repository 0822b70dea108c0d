package config

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Flags are the flags of the settings. They keep what was given until Load lays it over the other sources.
type Flags struct {
	given map[string]string
}

// AddFlags adds the flags of the settings that dotted names. With no name it adds those of all settings that are not
// in a table, and of the numbers of profiles.
func AddFlags(fs *pflag.FlagSet, dotted ...string) *Flags {
	f := &Flags{given: map[string]string{}}
	for _, s := range settings(Default().keys(), "") {
		chosen := len(dotted) == 0 || slices.Contains(dotted, s.dotted)
		if chosen && !s.envOnly && !strings.HasPrefix(s.dotted, "providers.") {
			f.add(fs, s.flag(), s.doc+" ("+s.value.want()+")", s.value)
		}
	}
	if len(dotted) > 0 {
		return f
	}
	for _, k := range knobs {
		f.add(fs, k.flag(), "In the chosen profile: "+k.doc, nil)
	}
	return f
}

func (f *Flags) add(fs *pflag.FlagSet, name, doc string, v value) {
	r := &recorder{flags: f, name: name, kind: "value"}
	switch v := v.(type) {
	case list:
		r.kind, r.list = "list", true
	case scalar[bool]:
		r.kind = "bool"
	case value:
		r.shown = v.String()
	}
	fs.Var(r, name, doc)
	if r.kind == "bool" {
		fs.Lookup(name).NoOptDefVal = "true"
	}
}

// text gives what a flag was set to.
func (f *Flags) text(name string) (string, bool) {
	if f == nil {
		return "", false
	}
	s, ok := f.given[name]
	return s, ok
}

// recorder is the pflag.Value of one setting.
type recorder struct {
	flags *Flags
	name  string
	kind  string
	list  bool   // given again it adds to the list
	shown string // the default, for help
}

func (r *recorder) Set(text string) error {
	if before, ok := r.flags.given[r.name]; ok && r.list {
		text = before + "," + text
	}
	r.flags.given[r.name] = text
	return nil
}

func (r *recorder) Type() string { return r.kind }

func (r *recorder) String() string {
	if r.flags == nil {
		return "" // pflag asks a zero value for its zero
	}
	if s, ok := r.flags.given[r.name]; ok {
		return s
	}
	return r.shown
}
