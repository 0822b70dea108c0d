package reply

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
)

func join(t *testing.T, raw ...string) string {
	t.Helper()
	var j joiner
	out := ""
	for _, r := range raw {
		var f fragment
		if err := json.Unmarshal([]byte(r), &f); err != nil {
			t.Fatalf("%s: %v", r, err)
		}
		out += j.add(f)
	}
	return out + j.rest()
}

func TestFragments(t *testing.T) {
	for _, test := range []struct {
		raw  []string
		want string
	}{
		{[]string{`"a"`, `"b"`}, "ab"},
		{[]string{`"a\ud83d"`, `"\ude00b"`}, "a😀b"},
		{[]string{`"\ud83d"`, `"\ude00"`}, "😀"},
		{[]string{`"\uD83D"`, `""`, `null`, `"\uDE00"`}, "😀"},
		{[]string{`"\ud83d\ude00"`}, "😀"},
		{[]string{`"😀"`}, "😀"},
		{[]string{`"a\ud83d"`, `"b"`}, "a\uFFFDb"},
		{[]string{`"a"`, `"\ude00b"`}, "a\uFFFDb"},
		{[]string{`"\ud83d"`, `"\ud83d"`, `"\ude00"`}, "\uFFFD😀"},
		{[]string{`"a\ud83d"`}, "a\uFFFD"},
		{[]string{`"\ude00\ud83d"`, `"\ude00"`}, "\uFFFD😀"},
		{[]string{`"a\\ud83d"`, `"\\ude00"`}, `a\ud83d\ude00`}, // escaped backslashes: ordinary text
		{[]string{`"a\\\ud83d"`, `"\ude00"`}, `a\😀`},
		{[]string{`"a\ud83d\u0041"`}, "a\uFFFDA"},
	} {
		if got := join(t, test.raw...); got != test.want {
			t.Errorf("%v: got %q, want %q", test.raw, got, test.want)
		}
	}
}

func TestFragmentRefusesOtherTypes(t *testing.T) {
	var f fragment
	if err := json.Unmarshal([]byte(`{"a":123456789}`), &f); err == nil {
		t.Error("an object was decoded as text")
	}
}

// FuzzFragments cuts a text anywhere between its UTF-16 units, also inside pairs.
func FuzzFragments(f *testing.F) {
	f.Add("a😀b\\ud83d\"\x00𝄞", uint(2), uint(3))
	f.Fuzz(func(t *testing.T, in string, i, k uint) {
		want := strings.ToValidUTF8(in, "\uFFFD")
		units := utf16.Encode([]rune(want))
		i, k = i%uint(len(units)+1), k%uint(len(units)+1)
		i, k = min(i, k), max(i, k)
		if got := join(t, escape(units[:i]), escape(units[i:k]), escape(units[k:])); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func escape(units []uint16) string {
	out := `"`
	for _, u := range units {
		out += fmt.Sprintf(`\u%04x`, u)
	}
	return out + `"`
}
