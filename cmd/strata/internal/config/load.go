package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// FileName is the configuration's file in the user's configuration folder.
const FileName = "strata.yaml"

// FileEnv names the file like --config does.
const FileEnv = "STRATA_CONFIG"

// Sources are where a configuration comes from, each laid over the one before it.
type Sources struct {
	File   string // must exist; empty: FileEnv, else strata.yaml in the configuration folder if there is one
	Getenv func(string) string
	Flags  *Flags // may be nil
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
	l.readEnvironment(src.Getenv)
	l.readFlags(src.Flags)
	if err := l.problems.err(); err != nil {
		return nil, err
	}
	if err := l.fillPaths(src.Getenv("HOME")); err != nil {
		return nil, err
	}
	l.validate()
	return l.Config, l.problems.err()
}

// loader lays sources over a configuration and collects what is wrong with them.
type loader struct {
	*Config
	problems problems
}

// readFile reads the user's file. Only a file that was asked for by name must exist.
func (l *loader) readFile(src Sources) error {
	path, asked := src.File, "--config"
	if path == "" {
		path, asked = src.Getenv(FileEnv), FileEnv
	}
	if path == "" {
		path, asked = filepath.Join(l.Folders.Config, FileName), ""
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	d, err := openDocument(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && asked == "":
		return nil
	case err != nil && asked != "":
		return fmt.Errorf("%s: %w", asked, err)
	case err != nil:
		return err
	}
	l.File = path
	if d.root != nil {
		l.readMapping(d, d.root, l.keys(), "")
	}
	return nil
}

// readMapping sets the keys that a mapping names.
func (l *loader) readMapping(d document, mapping *ast.MappingNode, keys []key, prefix string) {
	for _, entry := range mapping.Values {
		name, err := entryName(entry)
		if err != nil {
			l.problems.add(d.at(entry.Key.GetToken()), "", err)
			continue
		}
		k, err := lookUp(keys, name, prefix)
		if err != nil {
			l.problems.add(d.at(entry.Key.GetToken()), "", err)
			continue
		}
		l.readKey(d, entry, k, prefix+name)
	}
}

func lookUp(keys []key, name, prefix string) (key, error) {
	allowed := make([]string, 0, len(keys))
	for _, k := range keys {
		switch {
		case k.name == name && k.envOnly:
			return key{}, fmt.Errorf("%s cannot stand in a file: use token_file or %s", name, setting{k, prefix + name}.env())
		case k.name == name:
			return k, nil
		case !k.envOnly:
			allowed = append(allowed, k.name)
		}
	}
	where := "here"
	if prefix != "" {
		where = "in " + strings.TrimSuffix(prefix, ".")
	}
	return key{}, fmt.Errorf("unknown key %s; allowed %s: %s", quote(name), where, strings.Join(allowed, ", "))
}

// readKey sets one key from its entry in the file.
func (l *loader) readKey(d document, entry *ast.MappingValueNode, k key, dotted string) {
	if k.value != nil {
		l.readValue(d, entry.Value, k.value, dotted)
		return
	}
	l.origins[dotted] = d.at(entry.Key.GetToken())
	mapping, ok := entry.Value.(*ast.MappingNode)
	switch {
	case entry.Value.Type() == ast.NullType: // a section whose keys are all commented out
	case !ok:
		l.problems.add(d.at(nodeStart(entry.Value)), dotted, wrongType(entry.Value, "a mapping"))
	case k.table != nil:
		l.readTable(d, mapping, k.table, dotted+".")
	default:
		l.readMapping(d, mapping, k.section, dotted+".")
	}
}

func (l *loader) readTable(d document, mapping *ast.MappingNode, t *table, prefix string) {
	for _, entry := range mapping.Values {
		name, err := entryName(entry)
		if err == nil {
			var k key
			if k, err = t.entry(name); err == nil {
				l.readKey(d, entry, k, prefix+name)
				continue
			}
		}
		l.problems.add(d.at(entry.Key.GetToken()), strings.TrimSuffix(prefix, "."), err)
	}
}

func (l *loader) readValue(d document, node ast.Node, v value, dotted string) {
	err := v.setNode(d, node)
	if err == nil {
		l.origins[dotted] = d.at(nodeStart(node))
		return
	}
	var inner *nodeError
	if errors.As(err, &inner) {
		node = inner.node
	}
	l.problems.add(d.at(nodeStart(node)), dotted, err)
}

// readEnvironment sets what variables name. An empty variable counts as not set.
func (l *loader) readEnvironment(getenv func(string) string) {
	for _, s := range settings(l.keys(), "") {
		if text := getenv(s.env()); text != "" {
			l.setText(s, text, Origin{Source: s.env()})
		}
	}
	for _, name := range ProfileNames {
		for _, k := range knobs {
			s := setting{dotted: strings.Join(k.in(name), ".")}
			if text := getenv(s.env()); text != "" {
				l.setKnob(name, k, text, Origin{Source: s.env()})
			}
		}
	}
}

func (l *loader) readFlags(flags *Flags) {
	for _, s := range settings(l.keys(), "") {
		if text, ok := flags.text(s.flag()); ok {
			l.setText(s, text, Origin{Source: "--" + s.flag()})
		}
	}
	for _, k := range knobs {
		if text, ok := flags.text(k.flag()); ok {
			l.setKnob(l.Profile, k, text, Origin{Source: "--" + k.flag()})
		}
	}
}

func (l *loader) setText(s setting, text string, from Origin) {
	if err := s.value.setText(text); err != nil {
		l.problems.add(from, "", err)
		return
	}
	l.origins[s.dotted] = from
}

// fillPaths makes all paths absolute and names the files that nobody named. A relative path in the file is
// relative to the file's folder, any other to the working folder; "~/" is the home folder.
func (l *loader) fillPaths(home string) error {
	here, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("working folder: %w", err)
	}
	if l.DB == "" {
		l.DB = filepath.Join(l.Folders.Data, "strata.db")
	}
	if l.TokenFile == "" {
		l.TokenFile = filepath.Join(l.Folders.State, "token")
	}
	for dotted, field := range map[string]*string{
		"db": &l.DB, "token_file": &l.TokenFile, "log.file": &l.Log.File, "tls.cert": &l.TLS.Cert, "tls.key": &l.TLS.Key,
	} {
		*field = absolute(*field, l.base(dotted, here), home)
	}
	for i := range l.Workspaces.Roots {
		l.Workspaces.Roots[i] = absolute(l.Workspaces.Roots[i], l.base("workspaces.roots", here), home)
	}
	return nil
}

func (l *loader) base(dotted, here string) string {
	if o := l.Origin(dotted); o.Line > 0 {
		return filepath.Dir(o.Source)
	}
	return here
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
