package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/internal/upstream"
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

// A link in a form of Zed's adds its lines. A text that comes with such an address is not the file.
func TestF39LinksInTheFormsOfZed(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	for _, name := range []string{"a.txt", "b.txt", "c.txt", "d.txt"} {
		ts.write(name, numbered(20))
	}
	e := ts.editor()
	sid := e.NewSession(ts.work)
	reply := promptWith(t, e, sid, words("look"),
		link(ts.uri("a.txt")+"#L5:7"), link(ts.uri("b.txt")+"?symbol=f%20of#L9:10"), link(ts.uri("c.txt")+"?symbol=f"),
		embedded(ts.uri("d.txt")+"?symbol=f", "the words of f"), embedded(ts.uri("d.txt")+"#L2:3", "some lines"))
	if left, told := leftOutOf(t, reply), rawOf(reply.Frames.Kind("notice")); len(left) > 0 || told != "" {
		t.Errorf("omitted: %v, told: %s", left, told)
	}
	files, sent := filesOf(ts, e, sid), lastSent(ts)
	for name, want := range map[string]*workspace.FileRange{"a.txt": {Start: 5, End: 7}, "b.txt": {Start: 9, End: 10}, "c.txt": nil} {
		if diff := cmp.Diff(want, files[name].Range); diff != "" || files[name].Tokens == 0 {
			t.Errorf("%s: %+v", name, files[name])
		}
	}
	if len(files) != 3 || !strings.Contains(sent, "the words of f") || !strings.Contains(sent, "some lines") || !strings.Contains(sent, "a.txt (lines 5 to 7 of 20)") {
		t.Errorf("files: %v, sent: %s", files, sent)
	}
}

// What a prompt names and is not read is told in a notice, before the reply.
func TestF39WhatIsNotReadIsTold(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	must(t, os.Mkdir(filepath.Join(ts.work, "dir"), 0o700))
	ts.write("dir/a.txt", "text")
	e := ts.editor()
	sid := e.NewSession(ts.work)
	reply := promptWith(t, e, sid, words("look"), link(ts.uri("dir")+"/"), link("https://example.com/a"), link(ts.uri("none.txt")), link(ts.uri("dir/a.txt")+"#L999999999999:1"))
	notices := rawOf(reply.Frames.Kind("notice"))
	for _, want := range []string{
		"Not read: " + ts.uri("dir") + "/ is a folder; add the files in it.",
		" https://example.com/a is not a file: URI; only the address is sent.",
		" " + ts.uri("none.txt") + " does not exist.",
		" " + ts.uri("dir/a.txt") + "#L999999999999:1 is not a file: URI of this machine.",
	} {
		if !strings.Contains(notices, want) {
			t.Errorf("told: %s, want %s", notices, want)
		}
	}
	var many []any
	for i := range 15 {
		many = append(many, link(fmt.Sprintf("zed:///agent/thread/%d%s", i, strings.Repeat("x", 5000))))
	}
	reply = promptWith(t, e, sid, append(many, words("and these"))...)
	if notices = rawOf(reply.Frames.Kind("notice")); !strings.Contains(notices, "And 5 more.") || len(notices) > 6000 {
		t.Errorf("%d bytes: %s", len(notices), notices)
	}
	if reply = mustPrompt(t, e, sid, "nothing is named"); len(reply.Frames.Kind("notice")) > 0 {
		t.Errorf("told: %s", rawOf(reply.Frames.Kind("notice")))
	}
}

// The results of edit tools contain the file as it is now: only the newest is sent.
func TestP03ResultsOfEditTools(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	text := numbered(40)
	messages := []map[string]any{message("user", "edit it")}
	for i := range 9 {
		messages = append(messages, toolBatch(fmt.Sprint("replace_in_file", i), 1, func(int) string {
			return fmt.Sprintf("Saved, edit %d.\n<final_file_content path=\"a.txt\">\n%s</final_file_content>\nUse this content.\n", i, text)
		})...)
	}
	call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": messages})
	mustPrompt(t, e, sid, "look")
	sent := lastSent(ts)
	if n := strings.Count(sent, "line 20 of the file"); n != 1 || strings.Count(sent, "Saved, edit") != 9 || strings.Count(sent, "Use this content.") != 9 {
		t.Errorf("%d copies in %s", n, sent)
	}
}

// A file may be patched if a message of a sent request has all of its present version, whatever brought it there, for as long
// as the message is in the view.
func TestP02AFileInAMessageCountsAsShown(t *testing.T) {
	t.Parallel()
	content := numbered(20)
	read := func(name, args, result string, more ...map[string]any) []map[string]any {
		block := map[string]any{"type": "tool_result", "callId": "call_1", "content": []any{words(result)}}
		for _, m := range more {
			maps.Copy(block, m)
		}
		return []map[string]any{
			message("user", "begin"),
			message("assistant", []any{map[string]any{"type": "tool_call", "callId": "call_1", "name": name, "args": args}}),
			message("tool", []any{block}),
		}
	}
	for name, tt := range map[string]struct {
		messages []map[string]any
		want     string
	}{
		"a read":              {read("read_file", `{"path":"a.txt"}`, content), ""},
		"a read with numbers": {read("Read", `{"file_path":"./a.txt"}`, strings.TrimPrefix(numberedBy("\n%d\tline %d of the file", 20), "\n")), ""},
		"a write":             {read("write_file", `{"path":"a.txt","content":`+quoted(content)+`}`, "done"), ""},
		"an edit":             {read("replace_in_file", `{"path":"a.txt","diff":"x"}`, "<final_file_content path=\"a.txt\">\n"+content+"</final_file_content>"), ""},
		"a heading":           {[]map[string]any{message("user", "FULL CONTENT of file: a.txt\n"+content+"\nWhat is it?")}, ""},
		"a heading and fence": {[]map[string]any{message("user", "Look:\n### FULL CONTENT: `a.txt`\n```\n"+content+"```\nWhat is it?")}, ""},
		"a resource":          {[]map[string]any{message("user", []any{map[string]any{"type": "resource", "uri": "file://WORK/a.txt", "text": content}})}, ""},

		"a part":                       {read("read_file", `{"path":"a.txt","offset":3}`, content), "not_available"},
		"a failed read":                {read("read_file", `{"path":"a.txt"}`, content, map[string]any{"isError": true}), "not_available"},
		"another file":                 {read("read_file", `{"path":"b.txt"}`, content), "not_available"},
		"a sentence":                   {[]map[string]any{message("user", content)}, "not_available"},
		"another version":              {read("read_file", `{"path":"a.txt"}`, content+"more\n"), "stale"},
		"the beginning":                {read("read_file", `{"path":"a.txt"}`, numbered(19)), "stale"},
		"a heading of another version": {[]map[string]any{message("user", "FULL CONTENT: a.txt\nx"+content)}, "stale"},
	} {
		ts := startServer(t)
		ts.write("a.txt", content)
		e := ts.editor()
		sid := e.NewSession(ts.work)
		messages, err := json.Marshal(tt.messages)
		must(t, err)
		var list []any
		must(t, json.Unmarshal([]byte(strings.ReplaceAll(string(messages), "WORK", ts.work)), &list))
		call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": list})
		expect := func(when, base, want string) {
			t.Helper()
			if got := editRefusal(ts, e, sid, "a.txt", base); got != want {
				t.Errorf("%s, %s: %q, want %q", name, when, got, want)
			}
		}
		expect("before a request", "", "not_available")
		ts.upstream.Push(upstream.Script{Status: 400})
		if _, err := e.Prompt(sid, "fails"); err == nil {
			t.Fatal("the prompt did not fail")
		}
		expect("after a request in vain", "", "not_available")
		mustPrompt(t, e, sid, "look")
		expect("after a request", sha(content), tt.want)
		if tt.want != "" {
			ts.close()
			continue
		}
		expect("with another base", sha("other"), "stale")
		ts.restart()
		e = resume(ts, sid)
		expect("after a restart", "", "")
		ts.write("a.txt", content+"more\n")
		expect("after a change on disk", "", "stale")
		ts.write("a.txt", content)
		addTo(ts, e, sid, "a.txt", map[string]any{"range": map[string]int{"start": 1, "end": 2}})
		expect("with some lines as a file", "", "")
		addTo(ts, e, sid, "a.txt", map[string]any{"content": "unsaved\n"})
		expect("with unsaved text", "", "not_available")
		call[map[string]bool](ts, e, "_strata/files/remove", sid, map[string]any{"path": "a.txt"})
		expect("without the file", "", "")
		ts.remove("a.txt")
		expect("deleted", "", "not_available")
		ts.write("a.txt", content)
		call[map[string]any](ts, e, "_strata/history/clear", sid, nil)
		expect("after a clear", "", "not_available")
		ts.close()
	}
}

// numberedBy returns n lines with their numbers, twice in each.
func numberedBy(format string, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, format, i+1, i+1)
	}
	return out.String()
}

func quoted(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text is always JSON
	}
	return string(quoted)
}
