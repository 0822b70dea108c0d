package cli

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/config"
	"strata/server/access"
)

// The exit code says what kind of problem there was, also of a wrapped error; the problem is told once.
func TestExitCodes(t *testing.T) {
	cmd := &cobra.Command{Use: "strata"}
	for name, tt := range map[string]struct {
		err  error
		code int
		told string
	}{
		"success":         {nil, 0, ""},
		"reported before": {fmt.Errorf("serve: %w", Locked), 3, ""},
		"interrupted":     {Interrupted, 130, ""},
		"wrong usage":     {UsageError{cmd, errors.New("the prompt is missing")}, 2, "strata: the prompt is missing\nRun 'strata --help' for usage.\n"},
		"configuration":   {&config.Error{Origin: config.Origin{Source: "strata.yaml"}, Key: "listen", Err: errors.New("is wrong")}, 1, ""},
		"any other":       {errors.New("no \x1b[31mserver"), 1, "strata: no [31mserver\n"},
	} {
		var out bytes.Buffer
		p := &Process{Stderr: &out}
		if code := p.ExitCode(tt.err); code != tt.code {
			t.Errorf("%s: exit code %d, want %d", name, code, tt.code)
		}
		if tt.told == "" && name == "configuration" {
			tt.told = tt.err.Error() + "\n"
		}
		if out.String() != tt.told {
			t.Errorf("%s: %q, want %q", name, out.String(), tt.told)
		}
	}
}

// What a model or a provider says cannot control the terminal; lines and tabs stay lines and tabs, except in a column.
func TestPrintableText(t *testing.T) {
	for text, want := range map[string][2]string{
		"plain ä 漢":             {"plain ä 漢", "plain ä 漢"},
		"a\tb\nc":               {"a\tb\nc", "a b c"},
		"\x1b[2Ja\rb\x00\u009b": {"[2Jab", "[2Jab"},
	} {
		if got := [2]string{Printable(text), OneLine(text)}; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A token of the configuration is used as it is; otherwise the one of the file, which is created once.
func TestTheTokenInForce(t *testing.T) {
	c := &config.Config{TokenFile: filepath.Join(t.TempDir(), "token")}
	p := new(Process)
	first, err := p.Token(c)
	if err != nil || first.IsZero() {
		t.Fatal(first, err)
	}
	if again, err := p.Token(c); err != nil || !again.Matches(first.Reveal()) {
		t.Errorf("the token of the file changes, %v", err)
	}
	c.Token = access.NewToken()
	if own, err := p.Token(c); err != nil || !own.Matches(c.Token.Reveal()) {
		t.Errorf("the configured token is not used, %v", err)
	}
}
