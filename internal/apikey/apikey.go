// Package apikey checks the form of a provider's API key. It must never put a key into an error.
package apikey

import "errors"

// MaxBytes is the maximum length of a key.
const MaxBytes = 4096

// ErrForm means that a text is no API key: a header of a request could not contain it.
var ErrForm = errors.New("not an API key: expected 1 to 4,096 printable ASCII characters without spaces")

// Check returns ErrForm unless key has the form of an API key.
func Check(key string) error {
	if key == "" || len(key) > MaxBytes {
		return ErrForm
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return ErrForm
		}
	}
	return nil
}
