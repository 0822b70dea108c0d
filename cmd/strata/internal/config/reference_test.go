package config

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of keys into the documentation")

const (
	reference = "../../../../docs/configuration.md"
	begin     = "<!-- begin of the generated table: go test ./cmd/strata/internal/config -update -->\n"
	end       = "<!-- end of the generated table -->\n"
)

func TestEachKeyIsDocumented(t *testing.T) {
	data, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begin)
	table, after, foundEnd := strings.Cut(rest, end)
	if !found || !foundEnd {
		t.Fatalf("%s has no markers for the table", reference)
	}
	switch {
	case table == keyTable():
	case *update:
		if err := os.WriteFile(reference, []byte(before+begin+keyTable()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date: run with -update", reference)
	}
}

func TestEachSettingHasItsOwnVariableAndFlag(t *testing.T) {
	flags, variables := map[string]string{}, map[string]string{}
	for _, s := range example().all().values() {
		if other := flags[s.flag()]; other != "" {
			t.Errorf("%s and %s share a flag", s.dotted, other)
		}
		if other := variables[s.env()]; other != "" {
			t.Errorf("%s and %s share a variable", s.dotted, other)
		}
		flags[s.flag()], variables[s.env()] = s.dotted, s.dotted
		if s.tag.Get("doc") == "" {
			t.Errorf("%s is not documented", s.dotted)
		}
	}
	for _, k := range knobs {
		if other := flags[k.flag()]; other != "" {
			t.Errorf("%s and %s share a flag", k.name, other)
		}
		flags[k.flag()] = k.name
	}
}

// A misspelt tag would leave a setting without its rule, default or mask.
func TestTheTagsOfEachSettingAreKnown(t *testing.T) {
	known := []string{"yaml", "doc", "default", "allow", "oneof", "empty", "min", "names", "secret", "only"}
	for _, s := range append(example().all().values(), example().all().members()...) {
		for _, tag := range regexp.MustCompile(`([a-z]+):"`).FindAllStringSubmatch(string(s.tag), -1) {
			if !slices.Contains(known, tag[1]) && !strings.Contains(s.tag.Get("doc"), tag[0]) {
				t.Errorf("%s: tag %s is unknown", s.dotted, tag[1])
			}
		}
		for _, tag := range []string{"allow", "names"} {
			if name := s.tag.Get(tag); name != "" && rules[name].follows == nil {
				t.Errorf("%s: there is no rule %q", s.dotted, name)
			}
		}
		if s.isValue() && s.rule().want == "" {
			t.Errorf("%s has no rule", s.dotted)
		}
		if text, ok := s.tag.Lookup("default"); ok && s.setText(text) != nil {
			t.Errorf("%s: the default %q is not allowed", s.dotted, text)
		}
	}
}

// keyTable returns the table of all keys in Markdown.
func keyTable() string {
	var b strings.Builder
	b.WriteString("| key | default | meaning | allowed |\n|---|---|---|---|\n")
	for _, s := range example().all().values() {
		standard, name := "", s.dotted
		if s.String() != "" {
			standard = "`" + s.String() + "`"
		}
		if s.isEnvOnly() {
			name = s.env()
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, standard, s.tag.Get("doc"), s.want())
	}
	for _, k := range knobs {
		fmt.Fprintf(&b, "| `profiles.profile.%s.%s` | the profile's | %s, also `--%s` | checked by the profile |\n", k.section, k.name, k.doc, k.flag())
	}
	return b.String()
}

// example has one entry in each table, named as the documentation names it.
func example() *Config {
	c := Default()
	c.Providers, c.Models = map[string]*Provider{}, map[string]*Model{}
	c.MCPServers, c.Budgets = map[string]*MCPServer{}, map[string]*Budget{}
	for _, s := range c.all().members() {
		switch s.name() {
		case "providers":
			for _, m := range s.entry("name").members() {
				if m.name() == "headers" {
					m.entry("HEADER")
				}
			}
		case "budgets":
			s.entry("name")
		case "models":
			s.entry("provider/model")
		case "mcp_servers":
			for _, m := range s.entry("name").members() {
				switch m.name() {
				case "env":
					m.entry("NAME")
				case "headers":
					m.entry("HEADER")
				}
			}
		}
	}
	return c
}
