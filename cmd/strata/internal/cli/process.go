// Package cli is the part that all commands share: the process they run in, exit codes, and output that is safe for a
// terminal.
//
// It must never contain a command.
package cli

import (
	"encoding/json"
	"io"
	"os"

	"github.com/spf13/pflag"

	"strata/cmd/strata/internal/config"
	"strata/server/access"
)

// Process is the environment of a command.
type Process struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Environ        func() []string // os.Environ; nil: servers are not handed an environment
	ConfigFile     string          // --config
	Version        string          // of this program
	Commit         string          // of its sources; empty if unknown
}

// Load reads the configuration with the flags of a command; flags may be nil.
func (p *Process) Load(flags *pflag.FlagSet) (*config.Config, error) {
	return config.Load(config.Sources{File: p.ConfigFile, Getenv: p.Getenv, Flags: flags})
}

// ConfigPath returns the absolute path of the configuration file, which may not exist.
func (p *Process) ConfigPath() (string, error) {
	return config.Sources{File: p.ConfigFile, Getenv: p.Getenv}.Path()
}

// Token returns the token that the server accepts, and creates the token file if it is missing.
func (p *Process) Token(c *config.Config) (access.Token, error) {
	if !c.Token.IsZero() {
		return c.Token, nil
	}
	return access.LoadOrCreateToken(c.TokenFile)
}

// WriteJSON writes a value as indented JSON.
func (p *Process) WriteJSON(value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	_, err = p.Stdout.Write(append(text, '\n'))
	return err
}

// SameFile reports whether two paths lead to one file. A path that leads nowhere does not.
func SameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
