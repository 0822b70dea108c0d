package hudtest

import (
	"strings"
	"testing"
)

// TestTheOutputOfACallGrows checks what the page keeps of an output whose newest parts arrive.
func TestTheOutputOfACallGrows(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	Eval[int](p, bundle(t, "../../web/hud/src/store/live-output.ts"))
	Eval[bool](p, `(window.shown = (...parts) => {
		const output = new module.LiveOutput();
		for (const [text, end] of parts) output.grow(text, end);
		const { text, omitted } = output.shown.value;
		return text + "|" + omitted;
	}, true)`)
	for name, tt := range map[string]struct{ script, want string }{
		"nothing":                      {`shown()`, "|0"},
		"a first part":                 {`shown(["one\n", 4])`, "one\n|0"},
		"a part that overlaps":         {`shown(["one\n", 4], ["one\ntwo\n", 8])`, "one\ntwo\n|0"},
		"a part that follows":          {`shown(["one\n", 4], ["two\n", 8])`, "one\ntwo\n|0"},
		"a part that begins later":     {`shown(["one\n", 4], ["two\n", 800])`, "two\n|796"},
		"a part that began earlier":    {`shown(["two\n", 8], ["one\ntwo\n3\n", 10])`, "one\ntwo\n3\n|0"},
		"a line that has changed":      {`shown(["one\n10 %", 8], ["one\n20 %", 8])`, "one\n20 %|0"},
		"characters of several bytes":  {`shown(["ä€", 5], ["€😀", 9])`, "ä€😀|0"},
		"an end that goes back":        {`shown(["one\n", 4], ["two\n", 3])`, "one\n|0"},
		"an end before the text":       {`shown(["one\n", 1])`, "one\n|0"},
		"ends that are no numbers":     {`shown(["one\n", 4], ["two\n", NaN], ["two\n", "9"], ["two\n", 1e300], ["two\n", -1])`, "one\n|0"},
		"200 lines":                    {`shown(["x\n".repeat(200), 400])`, strings.Repeat("x\n", 200) + "|0"},
		"more than 200 lines":          {`shown(["a\nb\n" + "x\n".repeat(200), 404])`, strings.Repeat("x\n", 200) + "|4"},
		"more than 200 lines, at last": {`shown(...Array.from({length: 300}, (_, n) => ["x\n", 2 * n + 2]), ["y", 601])`, strings.Repeat("x\n", 199) + "y|202"},
		"a long line":                  {`shown(["é".repeat(20000), 40000])`, strings.Repeat("é", 16384) + "|7232"},
		"a long line, at a character":  {`shown(["é".repeat(20000) + "x", 40001])`, strings.Repeat("é", 16383) + "x|7234"},
	} {
		if got := Eval[string](p, tt.script); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestOutputDrawsOnlyItself: output replaces only the output of its call, until the call changes. The conversation draws its calls
// again when all is another map.
func TestOutputDrawsOnlyItself(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	Eval[int](p, bundle(t, "../../web/hud/src/store/live-calls.ts"))
	Eval[bool](p, `{
		window.calls = new module.LiveCalls();
		window.update = (more) => {
			const before = calls.all.value;
			calls.update({ sessionUpdate: "tool_call_update", toolCallId: "c", status: "in_progress", title: "make", ...more });
			const { status, content, output } = calls.all.value.get("c");
			return [calls.all.value !== before, status, content?.length ?? -1, output?.shown.value.text ?? ""].join(" ");
		};
		window.output = (text) => ({ content: [{ type: "content", content: { type: "text", text } }], _meta: { strata: { output: { end: text.length } } } });
		true;
	}`)
	for _, step := range []struct{ update, want string }{
		{`{}`, "true in_progress -1 "},
		{`output("one")`, "true in_progress 0 one"},
		{`output("one two")`, "false in_progress 0 one two"},
		{`{ ...output("one two 3"), title: "make all" }`, "true in_progress 0 one two 3"},
		{`{ ...output("one two 3 4"), title: "make all" }`, "false in_progress 0 one two 3 4"},
		{`{ status: "completed", content: output("Exit code 0").content }`, "true completed 1 one two 3 4"},
	} {
		if got := Eval[string](p, "update("+step.update+")"); got != step.want {
			t.Errorf("%s: got %q, want %q", step.update, got, step.want)
		}
	}
}

// TestCommandsAndTheirResults checks what the page reads in the input and the result of a command.
func TestCommandsAndTheirResults(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	Eval[int](p, bundle(t, "../../web/hud/src/conversation/command.ts"))
	for script, want := range map[string]string{
		`module.commandOf("execute", '{"command":"make","cwd":"web","timeout_s":9}')`:                                                                `{"line":"make","folder":"web","seconds":9}`,
		`module.commandOf("execute", '{"command":"make","cwd":1,"timeout_s":"9"}')`:                                                                  `{"line":"make","folder":"","seconds":0}`,
		`["", "{", "null", "[]", '{"command":""}', '{"command":["ls"]}'].map((input) => module.commandOf("execute", input) ?? 0)`:                    `[0,0,0,0,0,0]`,
		`module.commandOf("other", '{"command":"make"}') ?? 0`:                                                                                       `0`,
		`[["a", "", 0], ["b", "", 0], ["a", "web", 0], ["a", "", 9]].map(([line, folder, seconds]) => module.isWhole({line, folder, seconds}, "a"))`: `[true,false,false,false]`,
		`module.ended({type: "text", text: "Exit code 1\na\nb\n"})`:                                                                                  `{"outcome":"Exit code 1","output":"a\nb\n"}`,
		`module.ended({type: "text", text: "Ended after 9 s. Its output so far:\na"})`:                                                               `{"outcome":"Ended after 9 s. Its output so far","output":"a"}`,
		`module.ended({type: "text", text: "Exit code 0"})`:                                                                                          `{"outcome":"Exit code 0","output":""}`,
		`[undefined, {type: "image"}, {type: "text", text: ""}, {type: "text", text: "x".repeat(999)}].map((part) => module.ended(part) ?? 0)`:       `[0,0,0,0]`,
	} {
		if got := Eval[string](p, "JSON.stringify("+script+")"); got != want {
			t.Errorf("%s: got %s, want %s", script, got, want)
		}
	}
}
