package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// A command whose output was lost fails, whatever it did itself, and the loss is reported once.
func TestF31LostOutputIsAnError(t *testing.T) {
	full := errors.New("no space left on device")
	for name, tt := range map[string]struct {
		err  func(lost error) error // of the command
		code int
		told string
	}{
		"it did not notice": {func(error) error { return nil }, 1, "strata: no space left on device\n"},
		"it reports it":     {func(lost error) error { return fmt.Errorf("list: %w", lost) }, 1, "strata: list: no space left on device\n"},
		"another problem":   {func(error) error { return Locked }, 3, "strata: no space left on device\n"},
	} {
		var told bytes.Buffer
		sink := &brokenWriter{err: full}
		p := &Process{Stdout: NewOutput(sink), Stderr: &told}
		_, first := fmt.Fprintln(p.Stdout, "one")
		sink.err = nil
		if _, second := fmt.Fprintln(p.Stdout, "two"); first != full || second != full || sink.writes != 1 {
			t.Errorf("%s: %v, %v after %d writes", name, first, second, sink.writes)
		}
		if code := p.ExitCode(tt.err(first)); code != tt.code || told.String() != tt.told {
			t.Errorf("%s: exit code %d, %q", name, code, told.String())
		}
	}
}

type brokenWriter struct {
	err    error
	writes int
}

func (w *brokenWriter) Write(b []byte) (int, error) {
	w.writes++
	return len(b), w.err
}

// Reading standard input ends with the command, and says what it waits for.
func TestInputThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var told bytes.Buffer
		in, feed := io.Pipe()
		p := &Process{Stdin: in, Stderr: &told}
		ended := make(chan error, 1)
		go func() {
			_, err := p.ReadInput(ctx, 10)
			ended <- err
		}()
		time.Sleep(3 * inputPatience)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || told.String() != "[waiting for the end of standard input]\n" {
			t.Errorf("%v, %q", err, told.String())
		}
		feed.Close()
	})
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

// Text that the user decides on hides nothing, and cannot control the terminal.
func TestVisibleText(t *testing.T) {
	for text, want := range map[string]string{
		"plain ä 漢'\"\\":                  "plain ä 漢'\"\\",
		"a\tb\nc":                         "a\tb\nc",
		"\x1b[2Ja\rb\x00\u009b":           `\x1b[2Ja\rb\x00\u009b`,
		"a\u202eb\u200bc\u00a0\U000e0041": `a\u202eb\u200bc\u00a0\U000e0041`,
		"\xff":                            "\ufffd",
	} {
		if got := Visible(text); got != want {
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

// The documentation has the table of the exit codes, and the help has the same.
func TestF42ExitCodesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	help := strings.Join(strings.Fields(ExitCodesTopic().Long), " ")
	for _, e := range ExitCodes {
		if row := fmt.Sprintf("| %d | %s |\n", int(e.Code), e.Meaning); !strings.Contains(string(doc), row) {
			t.Errorf("docs/configuration.md lacks %q", row)
		}
		if !strings.Contains(help, fmt.Sprintf("%d %s", int(e.Code), e.Meaning)) {
			t.Errorf("the help lacks exit code %d: %s", int(e.Code), help)
		}
	}
}
