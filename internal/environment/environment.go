// Package environment checks environments that one process hands to another. It must never put a value into an error.
package environment

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The bounds of an environment.
const (
	MaxBytes     = 1 << 20 // of all names and values
	MaxVariables = 4096
)

// Check returns an error, without a value, for variables that a process cannot have, and beyond the bounds.
func Check(values map[string]string) error {
	if len(values) > MaxVariables {
		return fmt.Errorf("%d variables exceeds the limit of %d", len(values), MaxVariables)
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !IsName(name) {
			return errors.New("a name is empty, or contains '=' or NUL") // it may contain a value
		}
		if strings.ContainsRune(values[name], 0) {
			return fmt.Errorf("the value of %.64q contains NUL", name)
		}
		size += len(name) + len(values[name])
	}
	if size > MaxBytes {
		return fmt.Errorf("%d bytes exceeds the limit of %d", size, MaxBytes)
	}
	return nil
}

// IsName reports whether a variable can have this name.
func IsName(name string) bool { return name != "" && !strings.ContainsAny(name, "=\x00") }

// List returns variables as os.Environ does, sorted by name.
func List(values map[string]string) []string {
	list := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, name+"="+values[name])
	}
	return list
}
