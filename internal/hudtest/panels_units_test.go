package hudtest

import (
	"strings"
	"testing"
)

// TestFiguresOfThePanels checks the results of the panels' functions, each in a line of JavaScript.
func TestFiguresOfThePanels(t *testing.T) {
	w := NewWorld(t)
	p := Open(t, w.Server)
	for path, lines := range map[string]map[string]string{
		"text/format.ts": {
			"[0, 500, 999, 1000, 1500, 11449, 999949, 999950, 2300000].map(module.tokens)":                           `["0","500","999","1K","1.5K","11.4K","999.9K","1M","2.3M"]`,
			"[[0, 0], [0, 9], [1, 0], [1, 10000], [96, 1000], [199, 1000], [3, 2]].map((a) => module.percent(...a))": `["0 %","0 %","0 %","< 0.1 %","9.6 %","19 %","150 %"]`,
			`[module.words("over_budget"), module.sentence("cut_to_fit"), module.sentence("")]`:                      `["over budget","Cut to fit",""]`,
		},
		"text/fuzzy.ts": {
			`module.positions("", "abc")`:                            `[]`,
			`module.positions("ac", "abc")`:                          `[0,2]`,
			`module.positions("BC", "abc bc")`:                       `[1,2]`,
			`module.positions("x", "abc")`:                           `null`,
			`module.positions("ba", "abc")`:                          `null`,
			`module.positions("i", "İstanbul")`:                      `[]`,
			`module.parts("abc", [0, 2]).map((q) => q.text + q.hit)`: `["atrue","bfalse","ctrue"]`,
			`module.parts("", [])`:                                   `[]`,
			`module.positions("a b", "a-b")`:                         `[0,2]`,
		},
		"budget/parts.ts": {
			`module.partsOf(budget, breakdown).map((q) => q.name + " " + q.tokens + " " + q.share)`:             `["system 10 20","history 90 180","odd 100 200","free 400 400","reserve 200 200"]`,
			`[0, 400, 600, 720, 800, 801, 1600].map((used) => module.warningOf({...budget, used})?.text ?? "")`: `["","","Filling up","Nearly full","Nearly full","Over the limit by 1 %","Over the limit by 100 %"]`,
			`module.warningOf({...budget, maxInputTokens: 0, reservedOutput: 0})`:                               `null`,
			`module.ratio(budget, {...breakdown, used: 0})`:                                                     `1`,
			`module.barLength({...budget, maxInputTokens: 0}, [])`:                                              `1`,
		},
		"budget/omitted.ts": {
			`module.byReason([{key: "a", reason: "x", tokens: 1}, {key: "b", reason: "y", tokens: 5, count: 3}, {key: "c", reason: "x"}]).map((g) => [g.reason, g.items, g.tokens, g.entries.length])`: `[["y",3,5,1],["x",2,1,2]]`,
			`module.byReason([])`: `[]`,
		},
		"budget/request-rows.ts": {
			`module.chunks("")`: `[""]`,
			`module.chunks("a\n".repeat(41)).map((c) => c.length)`: `[79,2]`,
			`module.chunks("x".repeat(9000)).map((c) => c.length)`: `[4000,4000,1000]`,
			`module.chunks("a\nb")`:                                `["a\nb"]`,
			`module.requestRows({messages: [{role: "user", tokens: 3, content: [{type: "text", text: "a"}]}], breakpoints: [{message: 0, ttl: "1h"}]}, new Set()).map((r) => r.kind)`: `["entry","text","breakpoint"]`,
			`module.requestRows({messages: [{role: "user", tokens: 3, content: [{type: "image"}]}], breakpoints: []}, new Set([0])).map((r) => [r.kind, r.first])`:                    `[["entry","[picture: unknown type]"]]`,
		},
		"tiers/rows.ts": {
			`module.sumUp([{from: "", to: "L3"}, {from: "L3", to: "L3"}, {from: "active", to: "L3"}, {from: "L3", to: ""}])`: `"1 new, 1 changed, 1 moved, 1 removed"`,
			`module.sumUp([])`: `"no changes"`,
			`module.tierRows(tiers, {filter: "", closed: new Set(), outlinesOpen: new Set()}, String).map((r) => r.key)`:                                `["changes","tier L1","item system:a","outlines L1","item file:b","tier active","item msg:c"]`,
			`module.tierRows(tiers, {filter: "", closed: new Set(), outlinesOpen: new Set(["L1"])}, String).map((r) => r.key)`:                          `["changes","tier L1","item system:a","outlines L1","item outline-heading","item outline:a","item file:b","item outline:z","tier active","item msg:c"]`,
			`module.tierRows(tiers, {filter: "", closed: new Set(["L1"]), outlinesOpen: new Set(["L1"])}, String).map((r) => r.key)`:                    `["changes","tier L1","tier active","item msg:c"]`,
			`module.tierRows(tiers, {filter: "outline:z", closed: new Set(), outlinesOpen: new Set()}, String).map((r) => r.key)`:                       `["tier L1","outlines L1","item outline:z"]`,
			`[["", "L3"], ["L3", ""], ["L3", "L3"], ["active", "L3"]].map(([from, to]) => module.stepOf({from, to}))`:                                   `["new in L3","removed from L3","in L3","active to L3"]`,
			`["L0", "L1", "active", "x"].map(module.above)`:                                                                                             `["","L0","L3",""]`,
			`[[0, 0, []], [5, 0, [1]], [5, 5, [1]], [5, 2, [1]]].map(([tokens, cached, items]) => module.cachedWords({tokens, cached, items}, String))`: `["empty","not cached","cached","2 cached"]`,
		},
		"cost/calls.ts": {
			`module.joined([], []).calls`:                                                                                         `[]`,
			`module.joined(ids("abc"), ids("bcd"))`:                                                                               `{"calls":[{"callId":"a"},{"callId":"b"},{"callId":"c"},{"callId":"d"}],"gap":false}`,
			`module.joined(ids("abc"), ids("xy"))`:                                                                                `{"calls":[{"callId":"x"},{"callId":"y"}],"gap":true}`,
			`module.pageOf(ids("abcde"), 0, 2).map((c) => c.callId)`:                                                              `["e","d"]`,
			`module.pageOf(ids("abcde"), 2, 2).map((c) => c.callId)`:                                                              `["a"]`,
			`module.pageOf(ids("abcde"), 3, 2)`:                                                                                   `[]`,
			`module.hitRate({input: 0, cacheRead: 0, cacheWrite: 0})`:                                                             `0`,
			`module.hitRate({input: 1, cacheRead: 2, cacheWrite: 1})`:                                                             `0.5`,
			`module.stacked([{cacheRead: 1, cacheWrite: 2, input: 3, output: 4, expectedCacheRead: 0}], 7)`:                       `{"x":[7],"tops":[[1],[3],[6],[10]],"expected":[null]}`,
			`[[1, 4], [4, 4], [5, 4], [1, 0]].map(([cost, uncachedCost]) => module.savingOf({cost, uncachedCost})?.text ?? null)`: `["75 % less than without a cache","the same as without a cache","25 % more than without a cache",null]`,
		},
		"history/timeline.ts": {
			`module.timeline([{id: "e1", seq: 3, kind: "compact", at: "1", inForce: true}, {id: "e2", seq: 5, kind: "restore", undoes: "e0", at: "2", inForce: true}], [{checkpointId: "c", seq: 3, at: "1"}, {checkpointId: "old", seq: 1, at: "0"}], true).map((m) => m.key + (m.undoable ? "!" : ""))`: `["e2","c","e1!","older"]`,
			`[{kind: "restore", to: 4}, {kind: "restore", undoes: "x", reason: "undo of a clear"}, {kind: "clear"}].map((e) => module.titleOf(e, new Map([[4, "x"]])))`:                                                                                                                                   `["Restored “x”","Clear undone","History cleared"]`,
			`[{kind: "clear", before: 9, savedTokens: 9}, {kind: "compact", before: 9, after: 4}, {kind: "dedupe"}].map(module.sizesOf)`:                                                                                                                                                                  `[{"before":9,"after":0},{"before":9,"after":4},null]`,
		},
		"workspace/words.ts": {
			`module.indexWords({complete: false, files: 5000, outlined: 900, pending: 3796})`:                                                                                                                        `"1,204 of 5,000 files read"`,
			`module.indexWords({complete: true, files: 1, outlined: 0, pending: 0})`:                                                                                                                                 `"1 file, 0 with an outline"`,
			`module.indexWords({complete: false, files: 0, outlined: 0, pending: 0})`:                                                                                                                                `"Listing the files of the folder"`,
			`module.indexWords({complete: false, files: 3, outlined: 0, pending: 3, problem: "permission denied"})`:                                                                                                  `"The folder is not indexed: permission denied"`,
			`[["full"], ["partial", {range: {start: 2, end: 3}}], ["partial", {}], ["summary_only"], ["not_available"]].map(([state, file]) => module.stateWords({state}, file).replace("The model receives ", ""))`: `["the whole file.","lines 2 to 3.","a part of the file.","the outline.","nothing of this file."]`,
			`[["summary_only", "outline of the workspace", false], ["not_available", undefined, false], ["full", "asked for", true], ["summary_only", "over_budget", true], ["not_available", "file not found", true]].map(([state, reason, added]) => module.whyWords({state, reason}, added))`: `["selected by Strata, not added","","added","over budget","file not found"]`,
			`[[4, 4], [4, 9], [4, 0]].map(([line, endLine]) => module.linesOf({line, endLine}))`: `["4","4–9","4"]`,
		},
		"workspace/rows.ts": {
			`module.outlineRows({language: "go", imports: [{path: "io", line: 3}], symbols: [{name: "a", line: 5}]}).map((r) => r.key)`:                                                `["head imports","import 0","head symbols","symbol 0"]`,
			`["", "go"].map((language) => module.outlineRows({language, imports: [], symbols: []})[0].text)`:                                                                           `["No outlines for files of this kind","No definitions in this file"]`,
			`[0, 5, 6].map((line) => module.keyOfLine({symbols: [{line: 1}, {line: 5}]}, line))`:                                                                                       `["","symbol 1",""]`,
			`module.knownRows([{path: "a", tokens: 0, read: true}, {path: "b", tokens: 7}, {path: "c", tokens: 1}], [{path: "b"}]).map((r) => r.key)`:                                  `["head Added files","file b","head Read by the model","file a","head Outlines selected by Strata","file c"]`,
			`module.knownRows([{path: "a", tokens: 5}, {path: "b", tokens: 7}, {path: "c", tokens: 1}], [{path: "b"}]).map((r) => r.key + (r.kind === "head" ? ": " + r.tokens : ""))`: `["head Added files: 7","file b","head Outlines selected by Strata: 6","file a","file c"]`,
			`module.knownRows([], []).map((r) => r.kind)`: `["none"]`,
		},
		"files/rows.ts": {
			`[["full", "asked for"], ["summary_only", "asked for"], ["summary_only", "over_budget"], ["not_available", "file not found"]].map(([state, reason]) => module.isOutline({state, reason}))`:                                                                   `[false,true,false,false]`,
			`module.filesRows({files: [{path: "b", tokens: 1}, {path: "a", tokens: 9}], documents: [], order: "size", filter: "", breakdown: {tiers: [{items: [{key: "file:gone", tokens: 5, leaves: true}, {key: "file:b", tokens: 1, dead: 3}]}]}}).map((r) => r.key)`: `["head Files","file a","file b","head Removed; sent until the next rebuild","removed file:gone","head Documents","none No documents. Add one above."]`,
			`["full", "summary_only", "not_available", "partial"].map((state) => module.stateOf({state, range: {start: 2, end: 3}}))`:                                                                                                                                    `["whole","outline only","not available","lines 2 to 3"]`,
		},
	} {
		t.Run(strings.TrimSuffix(path, ".ts"), func(t *testing.T) {
			Eval[int](p, bundle(t, "../../web/hud/src/"+path))
			Eval[int](p, `(window.ids = (s) => [...s].map((callId) => ({callId})), window.budget = {used: 400, maxInputTokens: 1000, reservedOutput: 200, remaining: 400},
				window.tiers = {changes: [], tiers: [{tier: "L1", items: [["system:a", "system"], ["outline-heading", "outline"], ["outline:a", "outline"], ["file:b", "file"], ["outline:z", "outline"]].map(([key, kind]) => ({key, kind}))}, {tier: "active", items: [{key: "msg:c", kind: "message"}]}]},
				window.breakdown = {used: 200, categories: [{name: "odd", tokens: 100}, {name: "history", tokens: 90}, {name: "system", tokens: 10}]}, 1)`)
			for line, want := range lines {
				if got := Eval[string](p, "JSON.stringify("+line+")"); got != want {
					t.Errorf("%s = %s, want %s", line, got, want)
				}
			}
		})
	}
}
