package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of keys into the documentation")

const (
	reference = "../../../../docs/configuration.md"
	begin     = "<!-- begin of the generated table: go test ./cmd/strata/internal/config -update -->\n"
	end       = "<!-- end of the generated table -->\n"
)

func TestEachKeyStandsInTheDocumentation(t *testing.T) {
	data, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begin)
	table, after, foundEnd := strings.Cut(rest, end)
	if !found || !foundEnd {
		t.Fatalf("%s has no place for the table", reference)
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
	for _, s := range settings(example().keys(), "") {
		if other := flags[s.flag()]; other != "" {
			t.Errorf("%s and %s share a flag", s.dotted, other)
		}
		if other := variables[s.env()]; other != "" {
			t.Errorf("%s and %s share a variable", s.dotted, other)
		}
		flags[s.flag()], variables[s.env()] = s.dotted, s.dotted
		if s.doc == "" {
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

// keyTable gives the table of all keys in Markdown.
func keyTable() string {
	var b strings.Builder
	b.WriteString("| key | default | meaning | allowed |\n|---|---|---|---|\n")
	for _, s := range settings(example().keys(), "") {
		if _, ok := s.value.(profileValue); ok {
			continue
		}
		standard := "`" + s.value.String() + "`"
		if s.value.String() == "" {
			standard = ""
		}
		name := s.dotted
		if s.envOnly {
			name = s.env()
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, standard, s.doc, s.value.want())
	}
	for _, k := range knobs {
		fmt.Fprintf(&b, "| `profiles.profile.%s.%s` | the profile's | %s, also `--%s` | checked by the profile |\n", k.section, k.name, k.doc, k.flag())
	}
	return b.String()
}

// example has one entry in each table, named as the documentation names it.
func example() *Config {
	c := Default()
	c.Providers = map[string]*Provider{"name": newProvider("", "")}
	c.Providers["name"].Headers["HEADER"] = ""
	c.Models = map[string]*Model{"provider/model": {}}
	return c
}
