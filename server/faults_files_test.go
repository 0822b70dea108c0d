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

// A file with a byte that is not UTF-8 is shown with U+FFFD, which the model and the user are told, and may not be edited.
func TestF41AFileWithALatin1Byte(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	ts.write("a.txt", "all of it is ASCII, but for the caf\xe9\n")
	ts.write("b.txt", "fine\n")
	e := ts.editor()
	sid := e.NewSession(ts.work)
	reply := promptWith(t, e, sid, words("look"), link(ts.uri("a.txt")), link(ts.uri("b.txt")))
	if left := leftOutOf(t, reply); len(left) > 0 {
		t.Errorf("omitted: %v", left)
	}
	sent := lastSent(ts)
	for _, want := range []string{"but for the caf\ufffd", "a.txt (bytes that are not UTF-8 are shown as U+FFFD; the file cannot be edited)", "FULL: a.txt"} {
		if !strings.Contains(sent, want) {
			t.Errorf("%q was not sent: %s", want, sent)
		}
	}
	const notice = `"title":"Not UTF-8: bytes that cannot be read are shown as U+FFFD, and edits are refused: a.txt."`
	if told := rawOf(reply.Frames.Kind("notice")); !strings.Contains(told, notice) {
		t.Errorf("told: %s", told)
	}
	if reason := editRefusal(ts, e, sid, "a.txt", ""); reason != "encoding" {
		t.Errorf("an edit is refused as %q", reason)
	}
	ts.write("b.txt", "fin\xe9\n")
	reply = mustPrompt(t, e, sid, "again")
	if told := rawOf(reply.Frames.Kind("notice")); !strings.Contains(told, "refused: b.txt.") || !strings.Contains(lastSent(ts), "b.txt (bytes that") {
		t.Errorf("told: %s, sent: %s", told, lastSent(ts))
	}
	ts.restart()
	e = resume(ts, sid)
	if reason := editRefusal(ts, e, sid, "b.txt", ""); reason != "encoding" {
		t.Errorf("an edit is refused as %q", reason)
	}
	ts.write("b.txt", "finé\n")
	mustPrompt(t, e, sid, "and now")
	if reason := editRefusal(ts, e, sid, "b.txt", sha("finé\n")); reason != "" {
		t.Errorf("an edit is refused as %q", reason)
	}
}
