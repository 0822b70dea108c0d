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
			`module.partsOf(budget, breakdown).map((q) => q.name + " " + q.tokens)`:                                   `["system 20","history 180","odd 200","free 400","reserve 200"]`,
			`[[10, [1, 1, 1]], [0, [3]], [7, []], [5, [0, 0]], [400, [10, 0, 90]]].map((a) => module.scaledTo(...a))`: `[[3,4,3],[0],[],[0,0],[40,0,360]]`,
			`[0, 400, 600, 720, 800, 801, 1600].map((used) => module.warningOf({...budget, used})?.text ?? "")`:       `["","","Filling up","Nearly full","Nearly full","Over the limit by 1 %","Over the limit by 100 %"]`,
			`module.warningOf({...budget, maxInputTokens: 0, reservedOutput: 0})`:                                     `null`,
			`module.ratio(budget, {...breakdown, used: 0})`:                                                           `1`,
			`module.barLength({...budget, maxInputTokens: 0}, [])`:                                                    `1`,
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
		"store/live-calls.ts": {
			`(() => { const calls = new module.LiveCalls(); for (let i = 0; i < 300; i++) calls.update({toolCallId: "c" + i, status: "pending"}); calls.update({toolCallId: "c299", title: "t"}); return [calls.all.value.size, calls.all.value.get("c299"), calls.all.value.has("c99"), calls.open().length] })()`: `[200,{"status":"pending","title":"t"},false,200]`,
			`(() => { const calls = new module.LiveCalls(); calls.update({toolCallId: "a", status: "completed"}); calls.update({toolCallId: "b", status: "in_progress"}); const open = calls.open(); calls.drop(["a", "x"]); return [open, [...calls.all.value.keys()]] })()`:                                       `[["b"],["b"]]`,
			`(() => { const calls = new module.LiveCalls(); calls.update({toolCallId: "a", _meta: {strata: {messageId: "m"}}}); calls.update({toolCallId: "a", status: "failed", _meta: {strata: {outcome: "lost"}}}); return calls.all.value.get("a") })()`:                                                        `{"status":"failed","outcome":"lost"}`,
		},
		"store/unanswered.ts": {
			`[[], ["user t"], ["user"], ["assistant t"], ["user t", "assistant t"], ["user t", "assistant t failed"], ["user t", "assistant t", "user t"]].map((all) => module.unanswered(told(all))?.steps ?? "")`:                                                         `["",false,"","","","",false]`,
			`[["tool t"], ["tool t", "assistant t failed"], ["tool t", "assistant t"], ["tool"], ["tool t", "assistant t failed out"], ["tool t", "assistant t failed", "tool t"]].map((more) => module.unanswered(told(["user t", "assistant t", ...more]))?.steps ?? "")`: `[true,true,"","",true,true]`,
			`[module.unanswered(told(["user s", "assistant s", "user t", "assistant t", "tool t"])).prompt.key, module.unanswered([{message: {role: "user", turnId: "t", inView: true, view: {patches: [{}]}}}]).changed]`:                                                  `[2,true]`,
		},
		"conversation/calls.ts": {
			`["c1", "c2", "c3", "c4", "c5", "c6"].map((id) => module.callState({name: "look", args: "", incomplete: id === "c6", running: id === "c5"}, undefined, live[id]).status)`:                                                                                                                                                                                                                 `["pending","running","done","cancelled","pending","incomplete"]`,
			`[[false], [true], [true, "not_run"], [true, "interrupted"], [true, "lost"], [true, "constructor"]].map(([isError, outcome]) => module.callState({name: "look"}, {block: {isError, call: {outcome}, content: [{type: "text", text: "cancelled by the user"}]}}, live.c1).status)`:                                                                                                         `["done","failed","not run","interrupted","interrupted","failed"]`,
			`[module.callState({name: "look", args: ""}, undefined, live.c2), module.callState({name: "look", args: "{}"}, {block: {call: {title: "Look", kind: "read"}}}, live.c2)].map(({title, kind, input}) => [title, kind, input])`:                                                                                                                                                             `[["Look at it","read","{\"a\":1}"],["Look","read","{}"]]`,
			`module.callState({name: "look", args: ""}, undefined, {content: [{type: "text", text: "a"}, {type: "image", data: "AA==", mimeType: "image/png"}, {type: "resource_link", uri: "file:///a"}, {type: "odd"}].map((content) => ({type: "content", content})).concat([{type: "terminal"}, {type: "diff", path: "a"}, {type: "odd"}])}).parts.map((q) => q.type + " " + (q.text ?? q.data))`: `["text a","image AA==","text file:///a"]`,
			`[[undefined, {content: [{type: "diff", path: "live"}]}], [{block: {call: {diffs: [{path: "stored", hunks: []}]}}}, {}], [{block: {}}, undefined]].map(([stored, now]) => module.callState({name: "edit"}, stored, now).diffs.map((d) => d.path))`:                                                                                                                                        `[["live"],["stored"],[]]`,
			`module.callState({name: "look"}, undefined, undefined).status`:                          `""`,
			`module.oneLine("a\n\tb\u202e\u0000c ").length + module.oneLine("a\n\tb\u202e\u0000c ")`: `"5a b c"`,
			`module.oneLine("x".repeat(5000)).length`:                                                `300`,
			`[["/w/a.go", "/w"], ["/w/a.go", "/w/"], ["/wider/a.go", "/w"], ["C:\\w\\a.go", "C:\\w"], ["/w", "/w"]].map(([path, folder]) => module.place({path, line: 3}, folder))`:                                             `["a.go:3","a.go:3","/wider/a.go:3","a.go:3","/w:3"]`,
			`[["Read a.go", ["/w/a.go"]], ["Read", ["/w/a.go"]], ["Read", ["/w/a.go", "/w/b.go"]], ["Read", []]].map(([title, paths]) => module.placeBeside({title, locations: paths.map((path) => ({path, line: 2}))}, "/w"))`: `["","a.go:2","a.go:2 and 1 more",""]`,
			`[module.indented("{\"a\":1}"), module.indented("{\"a")]`: `["{\n  \"a\": 1\n}","{\"a"]`,
		},
		"text/visible.ts": {
			`module.visible("a\tb\nc d\u00e9")`:                       `"a\tb\nc dé"`,
			`module.visible("\r\u001b[31m\u0000\u007f\u009b")`:        `"␍␛[31m␀⟨U+007F⟩⟨U+009B⟩"`,
			`module.visible("\u202e\u2066\u200b\ufeff\u2028").length`: `40`,
		},
		"text/diff.ts": {
			`diff("", "a\nb\n")`:                         `"+a +b"`,
			`diff("a\nb\n", "")`:                         `"-a -b"`,
			`diff("", "")`:                               `""`,
			`diff("a\nb\nc\n", "a\nB\nc\n")`:             `" a -b +B  c"`,
			`diff("a\nb\nc\nd\ne\n", "x\nb\ny\nd\nz\n")`: `"-a +x  b -c +y  d -e +z"`,
			`diff("a\n", "a\na\n")`:                      `" a +a"`,
			`diff("a\n\n\n", "\n\nb\n")`:                 `"-a     +b"`,
			`diff("a\nb", "a\nB")`:                       `" a -b +B"`,
			`diff("a\nb", "a\nb\n")`:                     `" a -b! +b"`,
			`diff("a", "a\nb\n")`:                        `"-a! +a +b"`,
			`module.linesOf({old: "a\n".repeat(2000), new: "b\n".repeat(2000)}).map((l) => l.sign).join("").replace(/(.)\1+/g, "$1")`: `"-+"`,
		},
		"conversation/diffs.ts": {
			`module.diffsOf([{type: "content"}, {type: "diff", path: "a", oldText: "x", newText: "y", _meta: {strata: {oldLine: 3, newLine: 4}}}, {type: "diff", path: "b", oldText: null, newText: "n"}, {type: "diff", path: "a", oldText: "p", newText: "", _meta: {strata: {cut: true}}}]).map((d) => [d.path, d.state, d.hunks.length, d.cut, d.hunks[0].oldStart])`: `[["a","changed",2,true,3],["b","new",1,false,null]]`,
			`module.diffsOf([{type: "diff", path: "a", oldText: "x", newText: "", _meta: {strata: {deleted: true}}}])[0].state`:                                 `"deleted"`,
			`((content) => module.diffsOf(content) === module.diffsOf(content))([])`:                                                                            `true`,
			`module.storedDiffs([{path: "a", created: true, hunks: [{oldStart: 0, newStart: 1, new: "n"}]}, {path: "b", deleted: true, hunks: [], cut: true}])`: `[{"path":"a","cut":false,"state":"new","hunks":[{"old":"","new":"n","oldStart":0,"newStart":1}]},{"path":"b","cut":true,"state":"deleted","hunks":[]}]`,
			`module.numbered({old: "a\nb\nc\n", new: "a\nB\nC\nc\n", oldStart: 7, newStart: 9}).map((l) => l.sign + l.number)`:                                  `[" 9","-8","+10","+11"," 12"]`,
			`module.numbered({old: "a\n", new: "b\n"}).map((l) => l.number ?? null)`:                                                                            `[null,null]`,
			`module.rowsOfDiff({hunks: [{old: "a", new: "b"}, {old: "", new: "c"}]}).map((r) => r.sign)`:                                                        `["-","+","gap","+"]`,
			`module.sizeOf([{sign: "+"}, {sign: "gap"}, {sign: " "}, {sign: "-"}, {sign: "+"}])`:                                                                `{"added":2,"removed":1}`,
		},
		"store/tool-calls.ts": {
			`(() => { const all = [entry("m1", call("c")), entry("m2", result("c")), entry("m3", call("c")), entry("m4", result("x"), result("c"))], {of, joined} = module.joinResults(all); return [[...of].map(([key, r]) => key + " " + r.entry.key + r.index), [...joined].map(([e, set]) => e.key + [...set])] })()`: `[["m1 c m20","m3 c m41"],["m20","m41"]]`,
			`[[entry("m1", result("c", ["a"])), entry("m2", result("c", []))], [entry("m1", result("c", ["a"])), entry("m2", result("c", ["b"]), result("d"))], []].map((all) => module.newestPlan(all)?.entries ?? null)`:                                                                                                `[["a"],["b"],null]`,
		},
		"conversation/rows.ts": {
			`kinds(module.allRows(shown([said("u", "user"), step("m1", 2), results("m1", 2), said("m2", "assistant")])))`:                                                      `["u/head","u/p0","m1/head","m1/call m1.0","m1/call m1.1","m2/head","m2/p0"]`,
			`kinds(module.allRows(shown([said("u", "user"), step("m1", 4), results("m1", 4), step("m2", 1), results("m2", 1), said("m3", "assistant")])))`:                     `["u/head","u/p0","t/steps","m3/head","m3/p0"]`,
			`kinds(module.allRows({...shown([step("m1", 5), results("m1", 5), said("m3", "assistant")]), expanded: new Set([module.stepsKey("t")])})).length`:                  `9`,
			`kinds(module.allRows({...shown([step("m1", 5), results("m1", 5), said("m3", "assistant")]), running: "t"})).at(-1)`:                                               `"m3/waiting"`,
			`kinds(module.allRows({...shown([step("m1", 5), results("m1", 5)]), running: "t", calling: true})).length`:                                                         `6`,
			`kinds(module.allRows(shown([step("m1", 6), results("m1", 6)]))).length`:                                                                                           `7`,
			`kinds(module.allRows({...shown([step("m1", 1), said("m2", "assistant"), said("u", "user"), said("m3", "assistant", "t2")]), plan: {turnId: "t", entries: [1]}}))`: `["m1/head","m1/call m1.0","m2/head","m2/p0","t/plan","u/head","u/p0","m3/head","m3/p0"]`,
			`module.allRows(shown([step("m1", 1), said("m2", "assistant"), said("m3", "assistant", "t2")])).flatMap((r) => r.kind === "head" ? [r.continued] : [])`:            `[false,true,false]`,
			`kinds(module.allRows(shown([results("m1", 1), said("m2", "assistant")])))`:                                                                                        `["rm1/head","rm1/result0.0","m2/head","m2/p0"]`,
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
		"cost/lane-parts.ts": {
			`lane(module.laneParts(timed("2002 2004 2006"), 7, marked("2001 2004 2005 2009"), 10))`:                                                   `["2001","2002 #7","2004","2004 #8","2005","2006 #9","2009"]`,
			`lane(module.laneParts(timed("2002 2004 2006"), 7, marked("2001 2004 2005 2009"), 3))`:                                                    `["2005","2006 #9","2009"]`,
			`lane(module.laneParts(timed("2006 2004"), 1, [{kind: "expiry", at: "odd"}], 10))`:                                                        `["odd","2006 #1","2004 #2"]`,
			`lane(module.laneParts([], 1, [], 0))`:                                                                                                    `[]`,
			`[[9, 4], [4, 9]].map(([expectedCacheRead, cacheRead]) => module.missedOf({expectedCacheRead, cacheRead}))`:                               `[5,0]`,
			`module.partWords({kind: "call", number: 3, call: {at: "", cacheRead: 4000, cacheWrite: 5, expectedCacheRead: 6000, status: "stopped"}})`: `"Call 3, : 4,000 read, 5 written, 2,000 of 6,000 expected tokens missed, stopped"`,
			`[[5, 3, 2, 6], [0, 0, 0, 0], [1, 0, 0, 9]].map(([cacheRead, cacheWrite, input, expectedCacheRead]) => Object.values(module.sharesOf({cacheRead, cacheWrite, input, expectedCacheRead})).map((n) => Math.round(100 * n)))`: `[[50,30,10],[0,0,0],[11,0,89]]`,
			`[{kind: "expiry"}, {kind: "edit", edit: "clear"}, {kind: "compaction", edit: "compact"}, {kind: "odd", edit: "odd"}].map(module.markWords)`:                                                                               `["Cache expired","History cleared","History compacted","View edited"]`,
		},
		"store/live-text.ts": {
			`(() => { const live = new module.LiveText(), real = Date.now; let now = 5000; Date.now = () => now; try { live.add("text", "x".repeat(400)); now += 500; const soon = live.rate(now); live.add("text", "x".repeat(400)); now += 1500; live.add("thought", "x".repeat(400)); return [soon, live.rate(now), live.rate(now + 4000), live.rate(now + 5000), live.parts.map((part) => [part.begun, part.until])] } finally { Date.now = real } })()`: `[0,100,100,0,[[5000,5500],[7000,7000]]]`,
			`(() => { const live = new module.LiveText(); live.add("text", "before", true); return [live.parts[0].chars, live.parts[0].begun, live.rate(Date.now())] })()`: `[6,null,0]`,
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
			Eval[int](p, `(window.timed = (s) => s.split(" ").map((at) => ({at})), window.marked = (s) => s.split(" ").map((at) => ({kind: "edit", at})),
				window.lane = (all) => all.map((q) => q.kind === "mark" ? q.mark.at : q.call.at + " #" + q.number),
				window.ids = (s) => [...s].map((callId) => ({callId})), window.budget = {used: 400, maxInputTokens: 1000, reservedOutput: 200, remaining: 400},
				window.tiers = {changes: [], tiers: [{tier: "L1", items: [["system:a", "system"], ["outline-heading", "outline"], ["outline:a", "outline"], ["file:b", "file"], ["outline:z", "outline"]].map(([key, kind]) => ({key, kind}))}, {tier: "active", items: [{key: "msg:c", kind: "message"}]}]},
				window.live = {c1: {status: "pending"}, c2: {status: "in_progress", title: "Look at it", kind: "read", rawInput: {a: 1}}, c3: {status: "completed"}, c4: {status: "failed", outcome: "cancelled"}},
				window.entry = (key, ...blocks) => ({key, message: {inView: true, turnId: "t", blocks}}),
				window.call = (callId) => ({type: "tool_call", callId}), window.result = (callId, plan) => ({type: "tool_result", callId, content: [{type: "text", text: "r"}], ...(plan ? {call: {plan}} : {})}),
				window.diff = (old, now) => module.linesOf({old, new: now}).map((l) => l.sign + l.text + (l.open ? "!" : "")).join(" "),
				window.told = (lines) => lines.map((line, key) => ((words) => ({key, message: {role: words[0], turnId: words[1], status: words[2] ?? "complete", inView: words[3] !== "out"}}))(line.split(" "))),
				window.kinds = (rows) => rows.map((r) => r.key),
				window.message = (id, role, turnId, blocks) => ({key: id, message: {id, role, blocks, seq: 1, inView: true, ...(role === "user" ? {} : {turnId})}}),
				window.said = (id, role, turnId = "t") => message(id, role, turnId, [{type: "text", text: "words"}]),
				window.range = (id, n, make) => Array.from({length: n}, (_, i) => make(id + "." + i)),
				window.step = (id, n) => message(id, "assistant", "t", range(id, n, call)),
				window.results = (of, n) => message("r" + of, "tool", "t", range(of, n, result)),
				window.shown = (entries) => ({entries, tail: [], plan: null, running: "", calling: false, expanded: new Set(), results: joined(entries)}),
				window.joined = (entries) => ({of: new Map(), joined: new Map(entries.filter((e) => e.message.role === "tool" && entries.some((c) => "r" + c.key === e.key)).map((e) => [e, new Set(e.message.blocks.keys())]))}),
				window.breakdown = {used: 200, categories: [{name: "odd", tokens: 100}, {name: "history", tokens: 90}, {name: "system", tokens: 10}]}, 1)`)
			for line, want := range lines {
				if got := Eval[string](p, "JSON.stringify("+line+")"); got != want {
					t.Errorf("%s = %s, want %s", line, got, want)
				}
			}
		})
	}
}
