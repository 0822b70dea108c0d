package hudtest

import (
	"strings"
	"testing"
)

// TestWordsAndRowsOfTheReview checks the results of the review's functions, each in a line of JavaScript.
func TestWordsAndRowsOfTheReview(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	for path, lines := range map[string]map[string]string{
		"review/words.ts": {
			`[["done"], ["done", "done"], ["done", "restored", "done"], ["not_done", "unknown"], ["planned"], []].map((all) => module.statesOf(all.map((state) => ({state}))))`:                           `["Done","Done","Done: 2, taken back: 1","Not done: 1, outcome unknown: 1","Not finished",""]`,
			`[{files: []}, {files: [{outcome: "unchanged"}, {outcome: "restored"}]}, {files: [{outcome: "conflict"}]}, {files: [{outcome: "unavailable"}]}, {files: [], omitted: 1}].map(module.isPlain)`: `[true,true,false,false,false]`,
			`["put_back", "created", "deleted", "moved"].map((change) => module.outcomeWords({outcome: "restored", change, to: "/w/b"}, "/w"))`:                                                           `["is put back","is made again","is removed","moves to b"]`,
			`["changed", "missing", "exists", "between", "linked", "later", "odd"].map((reason) => module.outcomeWords({outcome: "conflict", reason}, "/w").slice(0, 28))`:                                `["stays: somebody else changed","stays: somebody else removed","stays: somebody else made a ","stays: somebody else changed","stays: it was moved to or fr","stays: a later change of it ","stays: odd"]`,
			`module.outcomeWords({outcome: "conflict", reason: "failed", detail: "\u202e" + "x".repeat(900)}, "/w").length`:                                                                               `330`,
			`["unchanged", "unavailable"].map((outcome) => module.outcomeWords({outcome}, "/w"))`:                                                                                                         `["is already as it should be","stays: its former content is no longer stored"]`,
			`module.doneWords({files: [{outcome: "restored", path: "/w/a"}]}, false, "/w")`:                                                                                                               `"1 file put back."`,
			`module.doneWords({files: [], omitted: 2}, true, "/w")`:                                                                                                                                       `"2 files put forward."`,
			`module.doneWords({files: [{outcome: "conflict", path: "/w/a"}, {outcome: "conflict", path: "/w/b"}, {outcome: "unchanged"}]}, false, "/w")`:                                                  `"1 file put back. a stays: somebody else changed it. 1 more file stays."`,
			`module.doneWords({files: [{outcome: "conflict", reason: "later", path: "/w/a"}]}, false, "/w")`:                                                                                              `"a stays: a later change of it is in force."`,
		},
		"review/rows.ts": {
			`files([["create", "a"], ["edit", "a"], ["edit", "b"], ["move", "a", "c"], ["edit", "c"], ["create", "a"]])`: `["c: 0 1 3 4","b: 2","a: 5"]`,
			`files([["move", "a", "b", "not_done"], ["edit", "a"], ["edit", "b"]])`:                                      `["a: 0 1","b: 2"]`,
			`files([["delete", "a"], ["create", "a"]])`:                                                                  `["a: 0 1"]`,
			`module.turnsOf([change(0, ["edit", "a"], "t2"), change(1, ["edit", "a"], "t1"), change(2, ["edit", "b"], "t1")]).map((t) => [t.turnId, t.at, t.changes.length, t.files.length])`:   `[["t2","0",1,1],["t1","1",2,2]]`,
			`module.turnsOf([{...change(0, ["edit", "a"]), diff: {path: "a", created: true, hunks: []}}, change(1, ["edit", "b"])]).flatMap((t) => t.changes.map((c) => c.shown?.state ?? ""))`: `["new",""]`,
			`["done", "not_done", "unknown", "planned", "restored"].map((state) => [module.inForce([{id: 1, state}]).length, module.takenBack([{id: 1, state}]).length])`:                       `[[1,0],[0,0],[1,0],[1,0],[0,1]]`,
			`rows({omitted: 0, older: false}, [], true)`:          `["turn t","file 0+"]`,
			`rows({omitted: 3, older: true}, ["file 0"], true)`:   `["turn t","file 0","omitted","older"]`,
			`rows({omitted: 0, older: false}, ["file 0"], false)`: `["turn t","file 0+"]`,
		},
		"rules/rows.ts": {
			`module.ruleRows([]).map((r) => r.kind)`: `["head","none","head","none"]`,
			`module.ruleRows([rule("a", "session"), rule("b", "session"), rule("a", "config"), rule("b", "config", "deny")]).map((r) => r.kind === "rule" ? r.rule.rule + (r.kept ? "!" : "") : r.kind)`: `["head","a!","b","head","a","b"]`,
		},
		"store/reviews.ts": {
			`(async () => { const asked = [], r = reviews(asked, 25); const stop = r.newest.watch(); await settled(r.newest); const first = [r.newest.value.value.changes.length, r.newest.value.value.older]; r.wantOlder(); await settled(r.newest); stop(); return [first, r.newest.value.value.changes.length, asked.at(-1).cursor] })()`: `[[10,true],20,"10"]`,
			`(async () => { const asked = [], r = reviews(asked, 2000); const stop = r.newest.watch(); for (let i = 0; i < 30; i++) r.wantOlder(); await settled(r.newest); stop(); return [r.newest.value.value.changes.length, r.newest.value.value.older] })()`:                                                                            `[100,false]`,
			`(async () => { const asked = [], r = reviews(asked, 3); r.show("t9"); const stop = r.open.value.listed.watch(); await settled(r.open.value.listed); stop(); const n = r.values.length; r.close(); return [asked.map((a) => a.turnId), n, r.values.length] })()`:                                                                  `[["t9"],2,1]`,
		},
		"conversation/rows.ts": {
			`changed([["edit_file", ["a"]], ["edit_file", ["a"]], ["write_file", ["b"]], ["read_file", ["c"]]])`: `["t:2"]`,
			`changed([["write_file", ["a"]], ["move_file", ["a", "b"]]])`:                                        `["t:1"]`,
			`changed([["edit_file", ["a"], "error"], ["write_file", ["b"], "lost"]])`:                            `["t:1"]`,
			`changed([["edit_file", ["a"], "error"]])`:                                                           `[]`,
			`changed([["edit_file", ["a"]]], "t")`:                                                               `[]`,
			`changed([["edit_file", ["a"]]], "", false)`:                                                         `[]`,
		},
	} {
		t.Run(strings.TrimSuffix(path, ".ts"), func(t *testing.T) {
			Eval[int](p, bundle(t, "../../web/hud/src/"+path))
			Eval[int](p, `(window.change = (n, [kind, path, to, state = "done"], turnId = "t") => ({id: String(n), turnId, at: String(n), kind, path, state, ...(to ? {to} : {})}),
				window.files = (all) => module.turnsOf(all.map((c, n) => change(n, c)))[0].files.map((f) => f.path + ": " + f.changes.map((c) => c.id).join(" ")),
				window.rows = (listed, toggled, open) => module.reviewRows(module.turnsOf([change(0, ["edit", "a"])]), listed, new Set(toggled), open).map((r) => r.key + (r.open ? "+" : "")),
				window.rule = (rule, scope, effect = "allow") => ({rule, scope, effect}),
				window.settled = async (fetched) => { while (fetched.busy.value) await null; },
				window.reviews = (asked, n) => new module.Reviews((params) => { asked.push(params); const from = Number(params.cursor ?? 0), to = Math.min(from + (params.limit ?? 1), n);
					return Promise.resolve({changes: Array(to - from).fill({}), ...(to < n ? {nextCursor: String(to)} : {})}); }, () => true),
				window.changed = (calls, running = "", inView = true) => { const entry = {key: "m", message: {id: "m", role: "assistant", seq: 1, inView, turnId: "t", blocks: calls.map(([name], i) => ({type: "tool_call", callId: "c" + i, name}))}};
					const of = new Map(calls.map(([, paths, bad], i) => ["m c" + i, {block: {isError: !!bad, call: {outcome: bad, locations: paths.map((path) => ({path}))}}}]));
					return module.allRows({entries: [entry], tail: [], plan: null, running, calling: false, expanded: new Set(), results: {of, joined: new Map()}}).filter((r) => r.kind === "changes").map((r) => r.turnId + ":" + r.files); }, 1)`)
			for line, want := range lines {
				if got := Eval[string](p, "Promise.resolve("+line+").then((v) => JSON.stringify(v))"); got != want {
					t.Errorf("%s = %s, want %s", line, got, want)
				}
			}
		})
	}
}
