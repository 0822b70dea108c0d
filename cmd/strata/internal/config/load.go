package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/spf13/pflag"
)

// FileName is the name of the file in the user's configuration folder.
const FileName = "strata.yaml"

// FileEnv is the variable that names the file as --config does.
const FileEnv = "STRATA_CONFIG"

// Sources are where a configuration comes from, each over the one before it.
type Sources struct {
	File   string // must exist; empty: FileEnv, else strata.yaml in the configuration folder if it exists
	Getenv func(string) string
	Flags  *pflag.FlagSet // with flags by AddFlags; may be nil
}

// Load reads all sources and checks the result. The error joins an *Error for each problem found.
func Load(src Sources) (*Config, error) {
	l := loader{Config: Default()}
	var err error
	if l.Folders, err = FindFolders(src.Getenv); err != nil {
		return nil, err
	}
	if err := l.readFile(src); err != nil {
		return nil, err
	}
	l.readVariables(src.Getenv)
	l.readFlags(src.Flags)
	if err := l.problems.err(); err != nil {
		return nil, err
	}
	if err := l.fillPaths(src.Getenv("HOME")); err != nil {
		return nil, err
	}
	l.check()
	return l.Config, l.problems.err()
}

// loader lays sources over a configuration and collects the problems in them.
type loader struct {
	*Config
	problems problems
}

// Path returns the absolute path of the user's file, which may not exist.
func (src Sources) Path() (string, error) {
	folders, err := FindFolders(src.Getenv)
	if err != nil {
		return "", err
	}
	path, _, err := src.path(folders)
	return path, err
}

// path returns the absolute path of the user's file, and what named it; empty if nothing did.
func (src Sources) path(folders Folders) (path, named string, err error) {
	path, named = src.File, "--config: "
	if path == "" {
		path, named = src.Getenv(FileEnv), FileEnv+": "
	}
	if path == "" {
		path, named = filepath.Join(folders.Config, FileName), ""
	}
	path, err = filepath.Abs(path)
	return path, named, err
}

// readFile reads the user's file. Only a file that was named must exist.
func (l *loader) readFile(src Sources) error {
	path, named, err := src.path(l.Folders)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && named == "":
		return nil
	case err != nil:
		return fmt.Errorf("%s%w", named, err)
	}
	defer f.Close()
	d, err := readDocument(path, f)
	if err != nil {
		return err
	}
	l.File = path
	l.readMapping(d, d.root, l.all())
	return nil
}

// readMapping sets the members of a section or table that a mapping of the file names, which are some of only if it
// is given.
func (l *loader) readMapping(d document, mapping *ast.MappingNode, s setting, only ...string) {
	for _, entry := range mapping.Values {
		at := d.at(entry.Key.GetToken())
		m, err := s.member(keyName(entry), only)
		if err != nil {
			l.problems.add(at, s.dotted, err)
			continue
		}
		if m.isValue() {
			l.readValue(d, entry.Value, m)
			continue
		}
		l.origins[m.dotted] = at
		inner, isMapping := entry.Value.(*ast.MappingNode)
		switch {
		case isMapping && s.isOverrides():
			l.readProfile(d, inner, m.name(), nil)
		case isMapping:
			l.readMapping(d, inner, m)
		case entry.Value.Type() != ast.NullType: // null: a section whose keys are all commented out
			l.problems.add(d.at(nodeStart(entry.Value)), m.dotted, fmt.Errorf("%s is not a mapping", describe(entry.Value)))
		}
	}
}

// readValue sets a value from the file. A value that a variable or a flag has set already is only checked.
func (l *loader) readValue(d document, node ast.Node, s setting) {
	isFinal := l.Origin(s.dotted).commands()
	if isFinal {
		s.field = reflect.New(s.field.Type()).Elem()
	}
	if at, err := s.setNode(node); err != nil {
		l.problems.add(d.at(nodeStart(at)), s.dotted, err)
	} else if !isFinal {
		l.origins[s.dotted] = d.at(nodeStart(node))
	}
}

// readVariables sets what environment variables name. An empty variable counts as not set.
func (l *loader) readVariables(getenv func(string) string) {
	for _, s := range l.all().values() {
		if text := getenv(s.env()); text != "" {
			l.setText(s, text, s.env())
		}
	}
	for _, name := range ProfileNames {
		for _, k := range knobs {
			if env := k.env(name); getenv(env) != "" {
				l.override(k.in(name, getenv(env), env))
			}
		}
	}
}

func (l *loader) readFlags(flags *pflag.FlagSet) {
	if flags == nil {
		return
	}
	for _, s := range l.all().values() {
		if text, ok := givenFlag(flags, s.flag()); ok {
			l.setText(s, text, "--"+s.flag())
		}
	}
	for _, k := range knobs {
		if text, ok := givenFlag(flags, k.flag()); ok {
			l.override(k.in(l.Profile, text, "--"+k.flag()))
		}
	}
}

func (l *loader) setText(s setting, text, source string) {
	if err := s.setText(text); err != nil {
		l.problems.add(Origin{Source: source}, "", err)
		return
	}
	l.origins[s.dotted] = Origin{Source: source}
}

// fillPaths makes all paths absolute and fills in those that no source set. A relative path in the file is relative
// to the file's folder, any other to the working folder; "~/" is the home folder.
func (l *loader) fillPaths(home string) error {
	here, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("working folder: %w", err)
	}
	l.DB = cmp.Or(l.DB, filepath.Join(l.Folders.Data, "strata.db"))
	l.TokenFile = cmp.Or(l.TokenFile, filepath.Join(l.Folders.State, "token"))
	for _, s := range l.all().values() {
		base := here
		if o := l.Origin(s.dotted); o.Line > 0 {
			base = filepath.Dir(o.Source)
		}
		switch rule := s.tag.Get("allow"); rule {
		case "path":
			s.field.SetString(absolute(s.field.String(), base, home))
		case "program":
			if program := s.field.String(); strings.ContainsAny(program, "/"+string(filepath.Separator)) {
				s.field.SetString(absolute(program, base, home))
			}
		case "folder":
			for i := range s.field.Len() {
				s.field.Index(i).SetString(absolute(s.field.Index(i).String(), base, home))
			}
		}
	}
	return nil
}

func absolute(path, base, home string) string {
	switch rest, inHome := strings.CutPrefix(path, "~/"); {
	case path == "":
		return ""
	case inHome && home != "":
		return filepath.Join(home, rest)
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}
