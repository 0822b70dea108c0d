package server

import (
	"strings"
	"testing"

	"strata/session/workspace"
)

// The text that an editor embeds is the file's only for as long as the disk has no newer one: then the next request has
// that, with a link or without.
func TestF29AnEmbeddedTextGivesWayToTheDisk(t *testing.T) {
	t.Parallel()
	for name, embeds := range map[string]string{"equal to the disk": "first\n", "unsaved": "typed\n"} {
		for again, blocks := range map[string][]any{"a link": {words("look"), nil}, "words only": {words("look")}} {
			ts := startServer(t)
			ts.write("a.txt", "first\n")
			if len(blocks) > 1 {
				blocks[1] = link(ts.uri("a.txt"))
			}
			e := ts.editor()
			sid := e.NewSession(ts.work)
			promptWith(t, e, sid, words("look"), embedded(ts.uri("a.txt"), embeds))
			if f := filesOf(ts, e, sid)["a.txt"]; f.Unsaved != (embeds != "first\n") || !strings.Contains(lastSent(ts), strings.TrimSpace(embeds)) {
				t.Errorf("%s: %+v", name, f)
			}
			if embeds == "first\n" {
				if reason := editRefusal(ts, e, sid, "a.txt", sha("first\n")); reason != "" {
					t.Errorf("%s: an edit is refused: %s", name, reason)
				}
			}
			ts.write("a.txt", "second\n")
			promptWith(t, e, sid, blocks...)
			if sent := lastSent(ts); !strings.Contains(sent, "second") {
				t.Errorf("%s, %s: sent %s", name, again, sent)
			}
			content := func() string {
				return call[workspace.FileText](ts, e, "_strata/files/content", sid, map[string]any{"path": "a.txt"}).Content
			}
			if got := content(); got != "second\n" {
				t.Errorf("%s, %s: the content is %q", name, again, got)
			}
			ts.restart()
			e = resume(ts, sid)
			if got := content(); got != "second\n" || filesOf(ts, e, sid)["a.txt"].Unsaved {
				t.Errorf("%s, %s: after a restart the content is %q", name, again, got)
			}
			ts.close()
		}
	}
}
