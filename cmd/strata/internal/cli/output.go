package cli

import (
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/term"
)

// Output is the standard output of a command. It keeps its first write error, which ExitCode reports, so that no command
// loses output unnoticed. It is safe for concurrent use.
type Output struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// NewOutput returns an Output that writes to w.
func NewOutput(w io.Writer) *Output { return &Output{w: w} }

// Write writes to the underlying writer. After an error it writes nothing more and returns the same error.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(b)
	o.err = err
	return n, err
}

// WriteError returns the first write error of w; nil if there is none, or if w is not an *Output.
func WriteError(w io.Writer) error {
	o, ok := w.(*Output)
	if !ok {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Printable removes the characters that could move a terminal's cursor or change its state.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// Visible returns s with escapes, such as \x1b or \u202e, in the place of the characters that are not printed. Line breaks
// and tabs stay. Unlike Printable it hides nothing: it is for text that the user decides on.
func Visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return b.String()
}

// OneLine returns s as one printable line without tabs, for a column of a table.
func OneLine(s string) string { return strings.NewReplacer("\n", " ", "\t", " ").Replace(Printable(s)) }

// File returns the file behind a standard stream; ok is false if it is no file.
func File(stream any) (f *os.File, ok bool) {
	if o, isOutput := stream.(*Output); isOutput {
		stream = o.w
	}
	f, ok = stream.(*os.File)
	return f, ok
}

// Columns returns the width of a standard stream's terminal; 0 if it is none, or if its width is unknown.
func Columns(stream any) int {
	f, ok := File(stream)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(width, 0)
}

// IsTerminal reports whether a standard stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := File(stream)
	return ok && term.IsTerminal(int(f.Fd()))
}
