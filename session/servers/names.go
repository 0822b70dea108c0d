package servers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"strata/internal/clip"
)

// maxName is the maximum length of a tool's name, in bytes, as all providers accept it.
const maxName = 64

// toolName returns the name of a server's tool for the model, server__tool, which has the characters and the length that
// providers accept. Different arguments can give equal names.
func toolName(server, tool string) string {
	name := safe(server) + "__" + safe(tool)
	if len(name) <= maxName {
		return name
	}
	hash := sha256.Sum256([]byte(server + "\x00" + tool))
	end := "_" + hex.EncodeToString(hash[:4])
	return name[:maxName-len(end)] + end
}

// safe replaces all characters of a name but letters, digits, _ and - of ASCII.
func safe(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
			return c
		}
		return '_'
	}, name)
}

// free returns a name that is not taken: name, or name with the smallest number for which it is free.
func free(name string, taken func(name string) bool) string {
	numbered := name
	for n := 2; taken(numbered); n++ {
		end := fmt.Sprint("_", n)
		numbered = clip.Bytes(name, maxName-len(end)) + end
	}
	return numbered
}
