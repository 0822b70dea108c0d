package environment

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	many := make(map[string]string)
	for i := range MaxVariables {
		many[fmt.Sprint("N", i)] = ""
	}
	more := map[string]string{"ONE": ""}
	for name := range many {
		more[name] = ""
	}
	for name, c := range map[string]struct {
		values map[string]string
		fault  string // part of the error; empty for none
	}{
		"none":               {nil, ""},
		"usual":              {map[string]string{"PATH": "/bin", "EMPTY": "", "LINES": "a\nb=c", "ProgramFiles(x86)": "ü"}, ""},
		"as many as can be":  {many, ""},
		"too many":           {more, "4097 variables exceeds the limit of 4096"},
		"as large as can be": {map[string]string{"N": strings.Repeat("v", MaxBytes-1)}, ""},
		"too large":          {map[string]string{"N": strings.Repeat("secret", MaxBytes)}, "bytes exceeds the limit of 1048576"},
		"no name":            {map[string]string{"": "secret"}, "a name is empty"},
		"= in a name":        {map[string]string{"secret=x": ""}, "contains '='"},
		"NUL in a name":      {map[string]string{"secret\x00": ""}, "or NUL"},
		"NUL in a value":     {map[string]string{"NAME": "secret\x00"}, `the value of "NAME" contains NUL`},
	} {
		err := Check(c.values)
		if (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error contains a value: %v", name, err)
		}
	}
}

func TestListIsSorted(t *testing.T) {
	if got, want := List(map[string]string{"B": "2", "A": "x=y"}), []string{"A=x=y", "B=2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
