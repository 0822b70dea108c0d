package main

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// A part is something in the release that is not Strata's: a module, a package or data.
type part struct {
	purl     string // package URL, which identifies it
	name     string
	version  string
	license  string // by NOTICE or its package
	kind     cyclonedx.ComponentType
	checksum *cyclonedx.Hash // of its package
	module   bool            // a Go module
	npm      bool            // installed in web/hud/node_modules
	text     string          // file with its license, if it is neither
}

// A product is a file of the release that others run: a program for one platform, the extension or the client library.
type product struct {
	ref, name, version string
	checksum           string // SHA-256
	kind               cyclonedx.ComponentType
	platform           string   // system and processor of a program
	parts              []string // by purl
}

// A release is the products and the parts that they contain.
type release struct {
	version  string
	date     time.Time
	products []product
	parts    map[string]part // by purl
}

// read collects the content of the programs, of the extension and of the client library. The last two are optional.
func (r *release) read(programs []string, extension, library string) error {
	r.parts = map[string]part{}
	notice, err := readNotice()
	if err != nil {
		return err
	}
	page, err := packagesOfThePage()
	if err != nil {
		return err
	}
	embedded, err := embeddedParts()
	if err != nil {
		return err
	}
	for _, file := range programs {
		p, modules, err := readProgram(file, notice)
		if err != nil {
			return err
		}
		p.version = r.version
		if err := r.add(p, file, slices.Concat(modules, page, embedded)); err != nil {
			return err
		}
	}
	// A manifest of VS Code or npm has the version without the mark of a development build.
	published := strings.TrimSuffix(r.version, "-dev")
	if extension != "" {
		p := product{ref: "strata.vsix", name: "strata.vsix", version: published, kind: cyclonedx.ComponentTypeApplication}
		if err := r.add(p, extension, page); err != nil {
			return err
		}
	}
	if library != "" {
		p := product{ref: "@strata/client", name: "@strata/client", version: published, kind: cyclonedx.ComponentTypeLibrary}
		if err := r.add(p, library, nil); err != nil { // a test finds it without dependencies
			return err
		}
	}
	return nil
}

// add adds a product, which is a file, and its parts.
func (r *release) add(p product, file string, parts []part) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	p.checksum = fmt.Sprintf("%x", sha256.Sum256(content))
	for _, part := range parts {
		r.parts[part.purl] = part
		p.parts = append(p.parts, part.purl)
	}
	slices.Sort(p.parts)
	r.products = append(r.products, p)
	return nil
}

// sorted returns the parts in the order of their names.
func (r *release) sorted() []part {
	var all []part
	for _, p := range r.parts {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b part) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.purl, b.purl)) })
	return all
}

var errNoLicense = errors.New("NOTICE has no license of it")

// complete returns an error if a part lacks one of the fields that each has.
func (p part) complete() error {
	switch {
	case p.name == "" || p.version == "" || p.purl == "":
		return fmt.Errorf("a part lacks its name or version: %+v", p)
	case p.license == "":
		return fmt.Errorf("%s: %w", p.name, errNoLicense)
	}
	return nil
}
