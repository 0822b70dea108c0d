// Package shellword quotes words for command lines that are shown.
//
// It must never run a command.
package shellword

import (
	"runtime"
	"strings"
)

const (
	plain        = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,/:@"
	plainWindows = plain + `\`
)

// Quote returns word as the shell of the system reads it: sh and its relatives, on Windows cmd.exe and PowerShell.
func Quote(word string) string {
	if runtime.GOOS == "windows" {
		return quoteWindows(word)
	}
	return Posix(word)
}

// Posix returns word as sh and its relatives read it.
func Posix(word string) string {
	if isPlain(word, plain) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// quoteWindows need not escape double quotes: no path contains one.
func quoteWindows(word string) string {
	if isPlain(word, plainWindows) {
		return word
	}
	return `"` + word + `"`
}

func isPlain(word, allowed string) bool {
	return word != "" && !strings.HasPrefix(word, "-") && strings.Trim(word, allowed) == ""
}
