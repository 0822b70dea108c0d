package approval

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// protectedNames are the files and folders that other programs run or trust. A * stands for any end of a name. A name with a
// slash is a folder in a folder.
var protectedNames = []string{".git", ".strata*", ".vscode", ".idea", ".envrc", ".github/workflows", "AGENTS.md", "CLAUDE.md"}

// Protected reports whether a path, at any depth, is or is in one that other programs run or trust. Names are compared as the
// file systems do that find the same file under several names: without regard to case, as macOS and Windows do; without the
// invisible characters that HFS+ ignores; and as NTFS does, without blanks and dots at the end, without the name of a
// stream, and with short names such as GIT~1.
func Protected(path string) bool {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	for i := range parts {
		parts[i] = plainName(parts[i])
	}
	return slices.ContainsFunc(protectedNames, func(name string) bool { return contains(parts, strings.Split(name, "/")) })
}

// contains reports whether parts contains all names, in a row.
func contains(parts, names []string) bool {
	for ; len(parts) >= len(names); parts = parts[1:] {
		if slices.EqualFunc(parts[:len(names)], names, isNamed) {
			return true
		}
	}
	return false
}

// plainName returns the name by which a file system may find a file.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff {
			return -1
		}
		return r
	}, name)
	name, _, _ = strings.Cut(name, ":")
	return strings.TrimRight(name, " .")
}

// isNamed reports whether a plain name is one of protectedNames.
func isNamed(part, name string) bool {
	begin, isBeginning := strings.CutSuffix(name, "*")
	if strings.EqualFold(part, name) || isBeginning && strings.EqualFold(firstRunes(part, len(begin)), begin) {
		return true
	}
	short, number, isShort := strings.Cut(part, "~")
	stem := firstRunes(strings.TrimPrefix(begin, "."), 6)
	return isShort && strings.EqualFold(short, stem) && number != "" && strings.Trim(number, "0123456789") == ""
}

// firstRunes returns the first n characters of a text.
func firstRunes(text string, n int) string {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return text[:at]
}
