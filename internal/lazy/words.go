package lazy

import (
	"strings"
	"sync"
)

// Words returns a function that splits a text at white space when it is first called and returns the same words each time.
// It is safe for concurrent use.
func Words(text string) func() []string {
	return sync.OnceValue(func() []string { return strings.Fields(text) })
}
