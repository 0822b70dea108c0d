// Package lazy defers work until its result is first needed. The command line starts the program often and briefly, and
// an editor starts one per window: none of these processes should compile expressions that it does not use.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles pattern when it is first called and returns the same expression each time.
// The function panics if pattern is not valid, and is safe for concurrent use.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
