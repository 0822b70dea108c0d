package server

import (
	"encoding/json"
	"testing"

	"strata/internal/testclient"
)

// A client that opens a stored session learns its title and how full the window is, without a prompt.
func TestF40OpeningASessionTellsTitleAndUsage(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, sid := attached(t, ts)
	mustPrompt(t, e, sid, "Where is the parser?")
	ts.close()
	ts.start()
	for _, method := range []string{"session/load", "session/resume"} {
		other := ts.editor()
		must(t, other.Call(method, map[string]any{"sessionId": sid, "cwd": ts.work, "mcpServers": []any{}}, nil))
		other.Expect(testclient.Sees(sid, "session_info_update"), testclient.Sees(sid, "usage_update"))
		var title, usage struct {
			Update struct {
				Title      string
				Used, Size int
			}
		}
		must(t, json.Unmarshal(other.Frames().Of(sid).Kind("session_info_update")[0].Params, &title))
		must(t, json.Unmarshal(other.Frames().Of(sid).Kind("usage_update")[0].Params, &usage))
		if u := usage.Update; title.Update.Title != "Where is the parser?" || u.Used <= 0 || u.Size <= u.Used {
			t.Errorf("%s: title %q, %d of %d tokens", method, title.Update.Title, u.Used, u.Size)
		}
	}
}
