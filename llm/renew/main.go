// Renew writes the list of models that package llm embeds, from the data of charm.land/catwalk in the version that
// go.mod names: `make models`. Its argument is the file. Equal data gives equal bytes.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"
)

const source = "charm.land/catwalk"

const head = `# Models of %s %s, MIT License, Copyright (c) 2025 Charmbracelet, Inc (see NOTICE).
# Written by make models. Providers and models are sorted; llm/listing.go reads this.
#
# provider, address
#	model, name, window, default max output (tokens), features, thinking levels, and in US dollars per million tokens:
#	input, output, cached input, cached output
`

func main() {
	log.SetFlags(0)
	log.SetPrefix("renew: ")
	if len(os.Args) != 2 {
		log.Fatal("usage: renew FILE")
	}
	list, err := write(version(), embedded.GetAll())
	if err == nil {
		err = os.WriteFile(os.Args[1], list, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// version returns the version of the source that this program was built with.
func version() string {
	info, _ := debug.ReadBuildInfo()
	i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == source })
	return info.Deps[i].Version
}

// write returns the list. The error joins one for each provider or model that it cannot hold.
func write(version string, providers []catwalk.Provider) ([]byte, error) {
	slices.SortFunc(providers, func(a, b catwalk.Provider) int { return cmp.Compare(a.ID, b.ID) })
	var out bytes.Buffer
	fmt.Fprintf(&out, head, source, version)
	var faults []error
	ids, addresses := map[string]bool{}, map[string]bool{}
	for _, p := range providers {
		address := addressOf(p)
		faults = append(faults,
			line(&out, string(p.ID), address),
			unique("provider", ids, string(p.ID)),
			unique("address", addresses, address),
			writeModels(&out, p))
	}
	return out.Bytes(), errors.Join(faults...)
}

// addressOf returns the address of a provider's API; empty where it is to be read from a variable of the environment.
func addressOf(p catwalk.Provider) string {
	if strings.HasPrefix(p.APIEndpoint, "$") {
		return ""
	}
	return p.APIEndpoint
}

func writeModels(out *bytes.Buffer, p catwalk.Provider) error {
	slices.SortFunc(p.Models, func(a, b catwalk.Model) int { return cmp.Compare(a.ID, b.ID) })
	var faults []error
	ids := map[string]bool{}
	for _, m := range p.Models {
		faults = append(faults, unique("model of "+string(p.ID), ids, m.ID), line(out, "", m.ID, m.Name,
			strconv.FormatInt(m.ContextWindow, 10), strconv.FormatInt(m.DefaultMaxTokens, 10),
			features(m), strings.Join(m.ReasoningLevels, ","),
			price(m.CostPer1MIn), price(m.CostPer1MOut), price(m.CostPer1MInCached), price(m.CostPer1MOutCached)))
	}
	return errors.Join(faults...)
}

func features(m catwalk.Model) string {
	var names []string
	if m.SupportsImages {
		names = append(names, "vision")
	}
	if m.CanReason {
		names = append(names, "reasoning")
	}
	return strings.Join(names, ",")
}

// price writes a number so that reading it gives the same one.
func price(dollars float64) string { return strconv.FormatFloat(dollars, 'f', -1, 64) }

// line writes fields with tabs between them. A field must hold no control character, and the first of a provider's
// line must not look like a comment.
func line(out *bytes.Buffer, fields ...string) error {
	text := strings.Join(fields, "\t")
	out.WriteString(text + "\n")
	for _, field := range fields {
		if strings.ContainsFunc(field, unicode.IsControl) {
			return fmt.Errorf("a control character in %q", text)
		}
	}
	if strings.HasPrefix(text, "#") {
		return fmt.Errorf("%q looks like a comment", text)
	}
	return nil
}

// unique returns an error if name is in seen, and adds it. Empty names do not count.
func unique(what string, seen map[string]bool, name string) error {
	if name != "" && seen[name] {
		return fmt.Errorf("%s %s is listed twice", what, name)
	}
	seen[name] = true
	return nil
}
