// Command sbom describes the content of a release: a bill of materials in the format of CycloneDX, and the licenses of
// everything that is not Strata's.
//
// It runs at the root of the tree. The modules are those that the given programs name; the npm packages, the parsers of
// outlines and the data are those of the tree. A part without a license is an error. Equal input has equal output.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	version := flags.String("version", "", "version of the release")
	epoch := flags.Int64("epoch", 0, "date of the release in seconds since 1970")
	billFile := flags.String("bill", "", "write the bill of materials to this file")
	licenseFile := flags.String("licenses", "", "write the license texts to this file")
	extension := flags.String("extension", "", "the extension for VS Code, a file")
	library := flags.String("library", "", "the client library, a file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := release{version: *version, date: time.Unix(*epoch, 0).UTC()}
	if err := r.read(flags.Args(), *extension, *library); err != nil {
		return err
	}
	return errors.Join(r.writeBill(*billFile), r.writeLicenses(*licenseFile))
}

func (r *release) writeBill(file string) error {
	if file == "" {
		return nil
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	encoder := cyclonedx.NewBOMEncoder(out, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false)
	return errors.Join(encoder.EncodeVersion(r.bill(), specVersion), out.Close())
}

func (r *release) writeLicenses(file string) error {
	if file == "" {
		return nil
	}
	text, err := r.licenseTexts()
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
