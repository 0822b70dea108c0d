package main

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// specVersion is the version of CycloneDX.
const specVersion = cyclonedx.SpecVersion1_6

// bill returns the bill of materials: the products, the parts, and which product contains which part.
func (r *release) bill() *cyclonedx.BOM {
	mit := licenses("MIT")
	root := cyclonedx.Component{BOMRef: "strata", Type: cyclonedx.ComponentTypeApplication, Name: "strata", Version: r.version, Licenses: mit}
	var components []cyclonedx.Component
	var dependencies []cyclonedx.Dependency
	var products []string
	for _, p := range r.products {
		c := cyclonedx.Component{
			BOMRef: p.ref, Type: p.kind, Name: p.name, Version: p.version, Licenses: mit,
			Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: p.checksum}},
		}
		if p.platform != "" {
			c.Properties = &[]cyclonedx.Property{{Name: "strata:platform", Value: p.platform}}
		}
		components = append(components, c)
		dependencies = append(dependencies, cyclonedx.Dependency{Ref: p.ref, Dependencies: &p.parts})
		products = append(products, p.ref)
	}
	for _, p := range r.sorted() {
		components = append(components, p.component())
	}
	dependencies = slices.Insert(dependencies, 0, cyclonedx.Dependency{Ref: root.BOMRef, Dependencies: &products})
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.date.Format(time.RFC3339), Component: &root}
	bom.Components, bom.Dependencies = &components, &dependencies
	return bom
}

func (p part) component() cyclonedx.Component {
	c := cyclonedx.Component{BOMRef: p.purl, PackageURL: p.purl, Type: p.kind, Name: p.name, Version: p.version, Licenses: licenses(p.license)}
	if p.checksum != nil {
		c.Hashes = &[]cyclonedx.Hash{*p.checksum}
	}
	return c
}

var (
	// licenseID is an identifier of SPDX in a text of NOTICE.
	licenseID = regexp.MustCompile(`\b(?:Apache-2\.0|BSD-[23]-Clause|CC0-1\.0|ICU|ISC|MIT|blessing)\b`)

	// licenseExpression is an expression of SPDX.
	licenseExpression = regexp.MustCompile(`^[\w.-]+(?: (?:OR|AND|WITH) [\w.-]+)+$`)
)

// licenses returns the licenses of a text of NOTICE, which all apply, those of an expression, or else the text itself as
// the name of one.
func licenses(text string) *cyclonedx.Licenses {
	if expression := strings.Trim(text, "()"); licenseExpression.MatchString(expression) {
		return &cyclonedx.Licenses{{Expression: expression}}
	}
	var ids []string
	for _, id := range licenseID.FindAllString(text, -1) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	switch len(ids) {
	case 0:
		return &cyclonedx.Licenses{{License: &cyclonedx.License{Name: text}}}
	case 1:
		return &cyclonedx.Licenses{{License: &cyclonedx.License{ID: ids[0]}}}
	}
	return &cyclonedx.Licenses{{Expression: strings.Join(ids, " AND ")}}
}
