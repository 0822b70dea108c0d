package actor

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"strata/history"
)

func TestLinesThatAreNotUnderstood(t *testing.T) {
	const list = "; the commands are say TEXT, think TEXT, call TOOL {json}, wait 200ms, fail 429, usage IN OUT, and a line --- between two steps."
	const wait = "a wait is a time such as 200ms or 2s, at most 60s"
	const fail = "a failure is an HTTP status from 400 to 599, optionally followed by the number of attempts that fail, at most 100"
	for prompt, want := range map[string]string{
		"":                         `Line 1 was not understood: the prompt has no command`,
		"\n---\n":                  `Line 1 was not understood: the prompt has no command`,
		"say a\n\njump high":       `Line 3 was not understood, "jump high": no such command`,
		"Say a":                    `Line 1 was not understood, "Say a": no such command`,
		"saying":                   `Line 1 was not understood, "saying": no such command`,
		"call":                     `Line 1 was not understood, "call": the tool has no name`,
		"call  \t":                 `Line 1 was not understood, "call  \t": the tool has no name`,
		"wait 61s":                 `Line 1 was not understood, "wait 61s": ` + wait,
		"wait -1s":                 `Line 1 was not understood, "wait -1s": ` + wait,
		"wait":                     `Line 1 was not understood, "wait": ` + wait,
		"wait 5":                   `Line 1 was not understood, "wait 5": ` + wait,
		"fail 200":                 `Line 1 was not understood, "fail 200": ` + fail,
		"fail 429 101":             `Line 1 was not understood, "fail 429 101": ` + fail,
		"fail 429 1 1":             `Line 1 was not understood, "fail 429 1 1": ` + fail,
		"fail often":               `Line 1 was not understood, "fail often": ` + fail,
		"usage 5":                  `Line 1 was not understood, "usage 5": a usage is two numbers of tokens, each at most ` + fmt.Sprint(history.MaxTokens),
		"usage -1 5":               `Line 1 was not understood, "usage -1 5": a usage is two numbers of tokens, each at most ` + fmt.Sprint(history.MaxTokens),
		"---\n" + long("x", 5000):  `Line 2 was not understood, "` + long("x", maxUnknownLine) + `": no such command`,
		long("wait 0s\n", 8*10001): `Line 10001 was not understood, "wait 0s": a prompt has at most 10000 commands`,
	} {
		if steps, got := parseScript(prompt); got != want+list || steps != nil {
			t.Errorf("%q: %s, want %s", prompt[:min(len(prompt), 100)], got, want+list)
		}
	}
}

// long repeats s up to n bytes.
func long(s string, n int) string { return strings.Repeat(s, n/len(s)) }

// The page about the actor describes all commands.
func TestCommandsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/actor.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verbs {
		if !strings.Contains(string(page), "\n| `"+v.example+"` |") {
			t.Errorf("docs/actor.md does not describe %s", v.example)
		}
	}
}
