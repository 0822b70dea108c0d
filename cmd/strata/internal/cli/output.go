package cli

import (
	"io"
	"os"
	"strings"
	"unicode"
)

// Printable removes the characters that could move a terminal's cursor or change its state.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// OneLine returns s as one printable line without tabs, for a column of a table.
func OneLine(s string) string { return strings.NewReplacer("\n", " ", "\t", " ").Replace(Printable(s)) }

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
