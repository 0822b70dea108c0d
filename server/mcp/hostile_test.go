package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"strata/session/servers"
)

// brisk lists changed tools soon.
func brisk(l *limits) { l.relist = 10 * time.Millisecond }

// hasty makes limits short that only calls reach that have no end.
func hasty(l *limits) { l.idle, l.relist = time.Second, 10*time.Millisecond }

// calm makes the limits of calls long again.
func (u *used) calm() { u.Server.(*use).server.limits.idle = patience }

func TestAServerThatCannotStartFailsWithTheReason(t *testing.T) {
	for script, reason := range map[string]string{
		"exit-at-start":        "the program ended with exit code 3\ncannot find the database",
		"hang-at-start":        "the server did not start within 1s",
		"flood-at-start":       "the server did not start within 1s",
		"die-at-initialize":    "the program ended with exit code 1",
		"hang-at-initialize":   "the server did not start within 1s",
		"refuse-initialize":    "no licence",
		"die-when-initialized": "the program ended with exit code 1",
		"hang-at-list":         "the server did not start within 1s",
		"die-at-list":          "the program ended with exit code 1",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			u := take(t, hostOf(t, func(l *limits) {
				l.exit = patience
				if strings.Contains(reason, "1s") {
					l.start = time.Second
				}
			}), actor(t, script), servers.Place{})
			hasAll(t, u.failed().Error, reason)
			_, err := u.call("echo", nil)
			if err == nil {
				t.Fatal("a call has a result")
			}
			hasAll(t, err.Error(), "the MCP server actor is not running: ", strings.Split(reason, "\n")[0])
		})
	}
}

func TestAProgramThatIsNotThereIsNamed(t *testing.T) {
	u := take(t, hostOf(t, nil), servers.Definition{Name: "gone", Command: "no-such-program-anywhere"}, servers.Place{})
	hasAll(t, u.failed().Error, "no-such-program-anywhere", "not found")
	u = take(t, hostOf(t, nil), servers.Definition{Name: "empty"}, servers.Place{})
	hasAll(t, u.failed().Error, "neither a command nor a URL")
}

func TestNoiseOnStdoutAndStderrIsIgnored(t *testing.T) {
	u := take(t, hostOf(t, nil), actor(t, "noise stderr"), servers.Place{})
	u.ready()
	text, err := u.call("echo", members{"text": "hello"})
	must(t, err)
	equal(t, "result", text, "hello")
}

func TestTheListOfToolsIsBounded(t *testing.T) {
	u := take(t, hostOf(t, nil), actor(t, "endless-tools"), servers.Place{})
	state := u.ready()
	equal(t, "number of tools", len(state.Tools), maxTools)
	hasAll(t, state.Error, "more than 512 tools")

	u = take(t, hostOf(t, nil), actor(t, "endless-pages"), servers.Place{})
	state = u.ready()
	equal(t, "number of tools", len(state.Tools), 0)
	hasAll(t, state.Error, "more than")
}

func TestStrangeToolsDoNotHideOthers(t *testing.T) {
	u := take(t, hostOf(t, nil), actor(t, "strange-tools"), servers.Place{})
	state := u.ready()
	equal(t, "names", names(state.Tools), []string{"same", "same", "ill egal/name\x00", "", "\uFFFD\uFFFD", "wordy", "typed", "titled", "no schema"})
	hasAll(t, state.Error, "2 tools omitted")
	for _, tool := range state.Tools {
		if len(tool.Description) > maxDescription || len(tool.Title) > 4*maxTitle || len(tool.Schema) > maxSchema {
			t.Errorf("%q is not bounded", tool.Name)
		}
	}
}

func TestACallOfAServerThatMisbehavesFailsWithASentence(t *testing.T) {
	for tool, sentence := range map[string]string{
		"hang":         "the MCP server made no progress for 1s",
		"die":          "the MCP server ended before the call had a result",
		"close-stdout": "the MCP server ended before the call had a result",
		"large":        "a result above the limit of 16 MiB",
		"error":        "the MCP server refused the call: no such xxx",
		"unknown":      "the MCP server made no progress for 1s",
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			var change func(*limits)
			if strings.Contains(sentence, "1s") {
				change = hasty
			}
			u := take(t, hostOf(t, change), actor(t, "in-order"), servers.Place{})
			u.ready()
			text, err := u.call(tool, members{})
			if err == nil {
				t.Fatalf("the result is %.100s", text)
			}
			hasAll(t, err.Error(), sentence)
			if len(err.Error()) > maxErrorText+200 {
				t.Errorf("the sentence has %d bytes", len(err.Error()))
			}
			u.calm()
			switch tool {
			case "die":
				hasAll(t, u.failed().Error, "exit code 7\nout of memory")
			case "close-stdout":
				u.failed()
			default:
				text, err := u.call("echo", members{"text": "still here"})
				must(t, err)
				equal(t, "result afterwards", text, "still here")
			}
		})
	}
}

// The code that the SDK has for failed requests over HTTP says nothing of a process. What a server writes to stderr is for the user,
// not for the model.
func TestACallThatAServerRefusesFailsWithItsMessageOnly(t *testing.T) {
	u := take(t, hostOf(t, nil), actor(t, "stderr in-order"), servers.Place{})
	u.ready()
	_, err := u.call("reject", members{})
	if err == nil || err.Error() != "the MCP server refused the call: over quota" {
		t.Errorf("the error is %.200v", err)
	}
}

func TestMessagesThatNobodyWaitsForChangeNothing(t *testing.T) {
	u := take(t, hostOf(t, nil), actor(t, "in-order"), servers.Place{})
	u.ready()
	for tool, want := range map[string]string{"wrong-ids": "right", "batch": "single", "deep": "flat", "flood": "flooded"} {
		text, err := u.call(tool, members{})
		must(t, err)
		equal(t, tool, text, want)
	}
	u.ready()
}

func TestProgressIsReportedAndStartsTheTimeAnew(t *testing.T) {
	u := take(t, hostOf(t, nil), actor(t, "in-order"), servers.Place{})
	u.ready()
	var reports []string
	r, err := u.run(t.Context(), "progress", members{}, func(text string) { reports = append(reports, text) })
	must(t, err)
	equal(t, "result", textOf(r.Content), "done")
	for _, text := range reports {
		hasAll(t, text, "part ")
	}
}

func TestEndlessProgressEndsWithTheTimeOfACall(t *testing.T) {
	u := take(t, hostOf(t, func(l *limits) { l.call = 2 * time.Second }), actor(t, "in-order"), servers.Place{})
	u.ready()
	reports := 0
	_, err := u.run(t.Context(), "endless-progress", members{}, func(text string) {
		reports++
		if len(text) > 4*maxProgressText {
			t.Errorf("a report has %d bytes", len(text))
		}
	})
	if err == nil || reports == 0 {
		t.Fatalf("%v after %d reports", err, reports)
	}
	hasAll(t, err.Error(), "the call took more than 2s")
}

func TestACancelledCallReturnsTheErrorOfItsContext(t *testing.T) {
	u := take(t, hostOf(t, nil), actor(t, "in-order"), servers.Place{})
	u.ready()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := u.run(ctx, "progress-and-hang", members{}, func(string) { cancel() })
	if !errors.Is(err, context.Canceled) || len(r.Content) > 0 {
		t.Errorf("%v, %v", r, err)
	}
	for heard, giveUp := "0", time.Now().Add(patience); heard != "1"; {
		if heard, err = u.call("cancelled", members{}); err != nil || time.Now().After(giveUp) {
			t.Fatalf("the server heard of %s cancelled calls, %v", heard, err)
		}
	}
}

func TestAChangedListIsListedAgain(t *testing.T) {
	u := take(t, hostOf(t, brisk), actor(t, "in-order"), servers.Place{})
	u.ready()
	for i := range 3 {
		_, err := u.call("change", members{"name": fmt.Sprint("new", i)})
		must(t, err)
		u.until("changed", func(s servers.State) bool { return len(s.Tools) == i+2 })
	}
	equal(t, "names", names(u.State().Tools), []string{"echo", "new0", "new1", "new2"})
}

func TestTheResultOfAServerThatEndsCounts(t *testing.T) {
	for range 20 {
		u := take(t, hostOf(t, nil), actor(t, "in-order"), servers.Place{})
		u.ready()
		text, err := u.call("last", members{})
		must(t, err)
		equal(t, "result", text, "last words")
		hasAll(t, u.failed().Error, "exit code 0")
	}
}

func TestAListThatEndsWithItsServerIsNoErrorOfItsOwn(t *testing.T) {
	var u servers.Server
	inUse, states := make(chan struct{}), make(chan servers.State, 100)
	u = hostOf(t, brisk).Use(actor(t, "die-at-second-list"), servers.Place{Folder: t.TempDir()}, func() {
		<-inUse
		states <- u.State()
	})
	close(inUse)
	defer u.Release()
	_, _ = u.Call(t.Context(), "change", []byte(`{"name":"new"}`), func(string) {}) // it may end with the server
	for state := range states {
		if state.Status == servers.Failed {
			hasAll(t, state.Error, "exit code 1")
			break
		}
		equal(t, "error before the end", state.Error, "")
	}
}

func TestRequestsOfAServerGetAnErrorExceptForRootsAndPings(t *testing.T) {
	folder, more := realFolder(t), realFolder(t)
	u := take(t, hostOf(t, nil), actor(t, "in-order"), servers.Place{Folder: folder, Roots: []string{more}})
	u.ready()
	text, err := u.call("ask", members{})
	must(t, err)
	answers := map[string]string{}
	for line := range strings.Lines(text) {
		id, answer, _ := strings.Cut(strings.TrimSpace(line), " ")
		answers[id] = answer
	}
	hasAll(t, answers[`"ask0"`], `"code"`, "CreateMessage")
	hasAll(t, answers[`"ask1"`], `"code"`, "does not support elicitation")
	hasAll(t, answers[`"ask2"`], "file://"+folder, "file://"+more)
	equal(t, "ping", answers[`"ask3"`], "{}")
	hasAll(t, answers[`"ask4"`], "-32601")
}

func TestAServerGetsItsFolderAndOnlySafeVariables(t *testing.T) {
	folder := realFolder(t)
	d := actor(t, "in-order")
	d.Env = append(d.Env, "TOKEN=given", "LANG=de")
	u := take(t, hostOf(t, nil), d, servers.Place{Folder: folder, Environment: []string{"PATH=/bin", "HOME=/home/x", "SECRET=1", "LC_ALL=C", "LANG=en", "https_proxy=p"}})
	u.ready()
	text, err := u.call("folder", members{})
	must(t, err)
	equal(t, "folder", text, folder)
	text, err = u.call("environment", members{})
	must(t, err)
	hasAll(t, text, "PATH=/bin\n", "HOME=/home/x", "LC_ALL=C", "https_proxy=p", "TOKEN=given", "LANG=de")
	if strings.Contains(text, "SECRET") || strings.Contains(text, "LANG=en") {
		t.Errorf("the environment is\n%s", text)
	}
}
