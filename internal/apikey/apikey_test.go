package apikey

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for key, good := range map[string]bool{
		"sk-ant-api03-abc_DEF/+=~!": true,
		strings.Repeat("k", 4096):   true,
		strings.Repeat("k", 4097):   false,
		"":                          false,
		"two words":                 false,
		"line\nbreak":               false,
		"sk-\x00":                   false,
		"sk-\x7f":                   false,
		"schlüssel":                 false,
	} {
		err := Check(key)
		if (err == nil) != good {
			t.Errorf("%.20q: %v", key, err)
		}
		if err != nil && len(key) > 3 && strings.Contains(err.Error(), key) {
			t.Errorf("the error contains the key: %v", err)
		}
	}
}
