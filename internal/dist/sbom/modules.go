package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// standard is the name of Go's standard library in vulnerability databases.
const standard = "std"

// readProgram returns a program and the modules that it names, with Go's standard library.
func readProgram(file string, notice map[string]string) (product, []part, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return product{}, nil, err
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	platform := settings["GOOS"] + "/" + settings["GOARCH"]
	goVersion, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ")
	modules := []part{{purl: "pkg:golang/" + standard + "@" + goVersion, name: standard, version: goVersion, license: "BSD-3-Clause", kind: cyclonedx.ComponentTypeLibrary, module: true}}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			return product{}, nil, fmt.Errorf("%s: %s is replaced, and its license unknown", file, dep.Path)
		}
		modules = append(modules, part{
			purl: "pkg:golang/" + dep.Path + "@" + dep.Version, name: dep.Path, version: dep.Version,
			license: notice[dep.Path], kind: cyclonedx.ComponentTypeLibrary, module: true,
		})
	}
	for _, m := range modules {
		if err := m.complete(); err != nil {
			return product{}, nil, fmt.Errorf("%s: %w", platform, err)
		}
	}
	return product{ref: "strata-" + strings.ReplaceAll(platform, "/", "-"), name: "strata", kind: cyclonedx.ComponentTypeApplication, platform: platform}, modules, nil
}

// moduleRow is a row of NOTICE: the path of a module and its license.
var moduleRow = regexp.MustCompile(`(?m)^  (\S+\.\S+/\S+) {2,}(\S.*)$`)

// readNotice returns the licenses of the modules in NOTICE.
func readNotice() (map[string]string, error) {
	text, err := os.ReadFile("NOTICE")
	if err != nil {
		return nil, err
	}
	licenses := map[string]string{}
	for _, row := range moduleRow.FindAllStringSubmatch(string(text), -1) {
		licenses[row[1]] = row[2]
	}
	return licenses, nil
}
