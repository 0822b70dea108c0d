package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	release "strata/internal/version"
)

// version and commit are set by the linker: -ldflags "-X main.version=v1.2.3".
var version, commit string

func newVersion(p *cli.Process) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cli.UsageArgs(cobra.NoArgs),
		RunE:  func(*cobra.Command, []string) error { return writeVersion(p) },
	}
}

func writeVersion(p *cli.Process) error {
	_, err := io.WriteString(p.Stdout, versionLine())
	return err
}

func versionLine() string {
	return fmt.Sprintf("strata %s (%s, %s/%s)\n", currentVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// currentVersion returns the linker's version, else the module's, else that of the next release with the commit.
func currentVersion() string {
	module := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		module = info.Main.Version
	}
	return chooseVersion(version, module, currentCommit())
}

// currentCommit returns the linker's commit, else that of the build; empty if both are unknown.
func currentCommit() string {
	if commit != "" {
		return commit
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// commitDigits is the length of a commit in a version.
const commitDigits = 12

// chooseVersion returns the version of a build. A module version that Go generated names no release.
func chooseVersion(linked, module, revision string) string {
	switch {
	case linked != "":
		return linked
	case module != "" && module != "(devel)" && !strings.HasPrefix(module, "v0.0.0-"):
		return module
	case len(revision) >= commitDigits:
		return release.Release + "-dev+" + revision[:commitDigits]
	}
	return release.Release + "-dev"
}
