package mcp

import (
	"strings"

	"strata/internal/clip"
)

// maxErrorText is the maximum size of an error for the model, in bytes. One for the user can have the end of stderr below.
const maxErrorText = 4 << 10

// valid returns a text with its invalid UTF-8 replaced.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// errorText returns an error for the user.
func errorText(err error) string { return clip.Bytes(valid(err.Error()), maxTail+maxErrorText) }

// headline returns the reason in an error for the user, without the output of the program below.
func headline(text string) string {
	reason, _, _ := strings.Cut(text, "\n")
	return clip.Line(reason, maxErrorText)
}
