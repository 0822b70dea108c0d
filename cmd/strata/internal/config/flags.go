package config

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// AddFlags adds the flags of the settings that dotted names, for Load to read. With no name it adds those of all
// settings outside of tables, and of the numbers of profiles.
func AddFlags(fs *pflag.FlagSet, dotted ...string) {
	for _, s := range Default().all().values() {
		doc := s.tag.Get("doc") + " (" + s.want() + ")"
		switch {
		case s.isEnvOnly(), strings.HasPrefix(s.dotted, "providers."), len(dotted) > 0 && !slices.Contains(dotted, s.dotted):
		case s.isList():
			fs.StringSlice(s.flag(), nil, doc)
		case isA[bool](s.field):
			fs.Bool(s.flag(), s.field.Bool(), doc)
		default:
			fs.String(s.flag(), s.String(), doc)
		}
	}
	if len(dotted) > 0 {
		return
	}
	for _, k := range knobs {
		fs.String(k.flag(), "", "In the chosen profile: "+k.doc)
	}
}

// Completion is the kind of values of a flag that AddFlags added, for the completion in shells.
type Completion struct {
	Flag    string
	Words   []string // the values, if only some words are allowed
	Files   bool     // paths of files
	Folders bool     // paths of folders
}

// Completions returns the flags that AddFlags can add and whose values can be completed.
func Completions() []Completion {
	var all []Completion
	for _, s := range Default().all().values() {
		c := Completion{Flag: s.flag(), Words: s.words(), Files: s.tag.Get("allow") == "path", Folders: s.tag.Get("allow") == "folder"}
		if len(c.Words) > 0 || c.Files || c.Folders {
			all = append(all, c)
		}
	}
	return all
}

// givenFlag returns the text of a flag, and whether the flag was given.
func givenFlag(flags *pflag.FlagSet, name string) (string, bool) {
	f := flags.Lookup(name)
	if f == nil || !f.Changed {
		return "", false
	}
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), ","), true
	}
	return f.Value.String(), true
}
