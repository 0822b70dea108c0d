// Package plural writes numbers of things.
package plural

import (
	"fmt"
	"strings"
)

// Of returns a number with its noun: "1 message", "2 messages", "3 entries".
func Of(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
