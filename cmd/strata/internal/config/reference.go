package config

import (
	"fmt"
	"strings"
)

// Reference gives the table of all keys for docs/configuration.md, in Markdown.
func Reference() string {
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
	c.Providers = map[string]*Provider{"name": {Headers: map[string]string{"HEADER": ""}}}
	c.Models = map[string]*Model{"provider/model": {}}
	return c
}
