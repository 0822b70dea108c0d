package outline

import (
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// The committed module is that of the committed sources: `make outlines` writes both checksums.
func TestModuleIsBuiltFromItsSources(t *testing.T) {
	unpacked, err := unpack()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(read(t, "wasm/sums")) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		content := unpacked
		if name != "outline.wasm" {
			content = []byte(read(t, path.Join("wasm", name)))
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != sum {
			t.Errorf("%s has the checksum %s, recorded is %s: run make outlines", name, got, sum)
		}
		names = append(names, name)
	}
	if want := []string{"build", "shim.c", "sources", "outline.wasm"}; !slices.Equal(names, want) {
		t.Errorf("checksums of %v, want those of %v", names, want)
	}
}

func TestModuleHasNoAccessToTheHost(t *testing.T) {
	m, err := loadModule("")
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if imports := m.compiled.ImportedFunctions(); len(imports) > 0 {
		t.Errorf("the module imports %d functions, the first is %v", len(imports), imports[0].Name())
	}
	if len(m.compiled.ImportedMemories()) > 0 {
		t.Error("the module imports memory")
	}
}

// Every kind and field that a grammar names must exist, or its rules would never apply.
func TestGrammarsNameKindsOfTheModule(t *testing.T) {
	p := newParser(t, Options{Timeout: patient})
	unknown := make(map[string]map[string]bool) // by grammar, for grammars shared by languages: names that none has
	for language, name := range examples() {
		g := grammars()[language]
		if g == nil {
			continue
		}
		if _, err := p.Parse(t.Context(), name, ""); err != nil {
			t.Fatal(err)
		}
		k := p.module.names[g]
		has := func(list []string, name string) bool { return name == "" || slices.Contains(list, name) }
		missing := make(map[string]bool)
		for names, r := range g.rules {
			for _, kind := range strings.Fields(names) {
				if !has(k.kind, kind) {
					missing["kind "+kind] = true
				}
			}
			for _, field := range strings.Fields(r.name + " " + r.body) {
				if field != "none" && !has(k.field, field) {
					missing["field "+field] = true
				}
			}
		}
		for _, kind := range strings.Fields(g.names + " " + g.dropped) {
			if !has(k.kind, kind) {
				missing["kind "+kind] = true
			}
		}
		for _, place := range strings.Fields(g.locals) {
			kind, field, _ := strings.Cut(place, ".")
			if !has(k.kind, kind) || !has(k.field, field) {
				missing["local "+place] = true
			}
		}
		family := family(language)
		if before, seen := unknown[family]; seen {
			for name := range before {
				if !missing[name] {
					delete(before, name)
				}
			}
		} else {
			unknown[family] = missing
		}
	}
	for family, names := range unknown {
		for name := range names {
			t.Errorf("%s: no %s", family, name)
		}
	}
}

// family is the group of languages that share rules.
func family(language string) string {
	switch language {
	case "c", "cpp":
		return "C"
	case "javascript", "typescript", "tsx":
		return "JavaScript"
	}
	return language
}
