package pick

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"strata/internal/leak"
	"strata/rpc"
)

func TestMain(m *testing.M) { leak.Main(m) }

// The newest session of a folder is one of the folder on disk, also if a client has files of the same name.
func TestNewestIsOnDisk(t *testing.T) {
	near, far := net.Pipe()
	client := rpc.NewClient(rpc.NewLineStream(near, near, near, rpc.Limits{}), nil)
	defer client.Close()
	go func() {
		const held = `{"sessionId":"sess_HELD","cwd":"/p","_meta":{"strata":{"workspace":"client"}}}`
		pages := []string{`"sessions":[` + held + `],"nextCursor":"2"`, `"sessions":[` + held + `,{"sessionId":"sess_DISK","cwd":"/p"}],"nextCursor":"3"`, `"sessions":[` + held + `]`}
		lines := bufio.NewScanner(far)
		for i := 0; lines.Scan(); i++ {
			fmt.Fprintf(far, `{"jsonrpc":"2.0","id":%d,"result":{%s}}`+"\n", i, pages[i]) // the client counts its requests
		}
	}()
	if newest, err := Newest(t.Context(), client, "/p"); err != nil || newest.ID != "sess_DISK" {
		t.Errorf("got %+v, %v", newest, err)
	}
	if newest, err := Newest(t.Context(), client, "/p"); err == nil || !strings.Contains(err.Error(), "no session in /p yet") {
		t.Errorf("of a client's files only: %+v, %v", newest, err)
	}
}

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
