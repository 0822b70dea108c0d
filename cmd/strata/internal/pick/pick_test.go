package pick

import (
	"fmt"
	"strings"
	"testing"
)

// A name of one session is its ID; a name of several is an error that lists them, the first ones of many.
func TestF42BeginningsOfSessionIDs(t *testing.T) {
	for n, want := range map[int]string{
		0:                 "no ID begins with it; `strata sessions ls` lists",
		1:                 "",
		2:                 "2 IDs begin with it; write more of the ID:\n  sess_0  ",
		maxCandidates + 3: "\n  and 3 more",
	} {
		var found []Listed
		for i := range n {
			found = append(found, Listed{ID: fmt.Sprint("sess_", i), Title: "a\x1b[2Jtitle"})
		}
		id, err := only("01m8", found)
		if (want == "") != (err == nil && id == "sess_0") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d sessions: %q, %v", n, id, err)
		}
		if err != nil && (strings.Count(err.Error(), "\n") > maxCandidates+1 || strings.Contains(err.Error(), "\x1b")) {
			t.Errorf("%d sessions: %q", n, err)
		}
	}
	for _, short := range []string{"", "sess_", "01M", "sess_01m", "SESS_01"} {
		if id, err := Session(t.Context(), nil, short); err == nil || !strings.Contains(err.Error(), "at least 4 characters") {
			t.Errorf("%q: %q, %v", short, id, err)
		}
	}
	for _, spelling := range []string{"01M8HW", "01m8hw", "sess_01M8HW", "Sess_01m8hw"} {
		if got := normalized(spelling); got != "sess_01M8HW" {
			t.Errorf("%q: %q", spelling, got)
		}
	}
	complete := "sess_01M8HW3BB6K06TQ13C6XWD1J2B"
	if id, err := Session(t.Context(), nil, complete); id != complete || err != nil {
		t.Errorf("a complete ID: %q, %v", id, err)
	}
}
