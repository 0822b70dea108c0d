package upgrade

import (
	"strconv"
	"strings"
)

// older reports whether version a precedes b by the rules of semantic versions. Versions that differ only in their build
// have no order, and neither has a text that is no version.
func older(a, b string) bool {
	x, okA := parse(a)
	y, okB := parse(b)
	if !okA || !okB {
		return false
	}
	for i := range x.numbers {
		if x.numbers[i] != y.numbers[i] {
			return x.numbers[i] < y.numbers[i]
		}
	}
	switch {
	case x.pre == y.pre || x.pre == "":
		return false
	case y.pre == "":
		return true
	}
	return olderPre(strings.Split(x.pre, "."), strings.Split(y.pre, "."))
}

// olderPre compares the identifiers of pre-releases: numbers precede words, and the beginning of a list precedes the list.
func olderPre(x, y []string) bool {
	for i := range min(len(x), len(y)) {
		if x[i] == y[i] {
			continue
		}
		n, errX := strconv.Atoi(x[i])
		m, errY := strconv.Atoi(y[i])
		switch {
		case errX == nil && errY == nil:
			return n < m
		case errX == nil || errY == nil:
			return errX == nil
		}
		return x[i] < y[i]
	}
	return len(x) < len(y)
}

type semantic struct {
	numbers [3]int
	pre     string
}

func parse(version string) (s semantic, ok bool) {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "+")
	core, pre, _ := strings.Cut(version, "-")
	parts := strings.Split(core, ".")
	if len(parts) != len(s.numbers) {
		return s, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return s, false
		}
		s.numbers[i] = n
	}
	s.pre = pre
	return s, true
}
