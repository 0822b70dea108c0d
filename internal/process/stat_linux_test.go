package process

import "testing"

func TestTheNameOfAProcessCannotLookLikeItsParent(t *testing.T) {
	for content, want := range map[string]stat{
		"7 (sh) S 5 6 6 0 -1":                    {pid: 7, parent: 5, group: 6},
		"7 (a) R 1 1 (b) Z 5 6 6":                {pid: 7, parent: 5, group: 6, dead: true},
		"7 ( ) X 5 6":                            {pid: 7, parent: 5, group: 6, dead: true},
		"7 (a\nb) S 1 2) T 5 6 6 0 -1 4194304\n": {pid: 7, parent: 5, group: 6},
	} {
		if got, ok := parseStat(7, []byte(content)); got != want || !ok {
			t.Errorf("%q: %+v %v, want %+v", content, got, ok, want)
		}
	}
	for _, content := range []string{"", "7", "7 (sh)", "7 (sh) S 5", "7 (sh) S x 6", "7 (sh) S 5 x"} {
		if got, ok := parseStat(7, []byte(content)); ok {
			t.Errorf("%q: %+v", content, got)
		}
	}
}
