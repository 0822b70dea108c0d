package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
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
}

// A product is a file of the release that others run: a program for one platform, the extension or the client library.
type product struct {
	ref, name, checksum string
	kind                cyclonedx.ComponentType
	platform            string // system and processor of a program
	parts               []string
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
		r.add(p, slices.Concat(modules, page, embedded))
	}
	if extension != "" {
		p := product{ref: "strata.vsix", name: "strata.vsix", kind: cyclonedx.ComponentTypeApplication}
		if p.checksum, err = checksum(extension); err != nil {
			return err
		}
		r.add(p, page)
	}
	if library == "" {
		return nil
	}
	p := product{ref: "@strata/client", name: "@strata/client", kind: cyclonedx.ComponentTypeLibrary}
	if p.checksum, err = checksum(library); err != nil {
		return err
	}
	r.add(p, nil) // a test finds it without dependencies
	return nil
}

func (r *release) add(p product, parts []part) {
	for _, part := range parts {
		r.parts[part.purl] = part
		p.parts = append(p.parts, part.purl)
	}
	slices.Sort(p.parts)
	r.products = append(r.products, p)
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

// checksum returns the SHA-256 of a file in hexadecimal digits.
func checksum(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
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
