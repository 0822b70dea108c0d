#!/usr/bin/env node
// Tools as a stock ACP editor sees them, with the model offline/actor.
//   node tools-check.mjs --sdk 1|2 --cwd DIR --state FILE --phase talk|load (--url ws://HOST/acp --token T | -- COMMAND [ARG...])
// DIR contains a.txt, b.txt, c.txt and slow.txt. `talk` talks in a session and stores what the editor shows of it in FILE; `load` wants
// the same of another server process. One line per check: ok / FAIL. Exit 1 on any FAIL.
import { isDeepStrictEqual } from "node:util";
import { at, call, check, checkConversation, checkShown, connect, keep, kept, loaded, opt, run, script, step, textOf } from "./checks.mjs";
import { normal } from "./editor.mjs";

const unsaved = "unsaved needle of the editor\n";
const plan = (status) => ({ entries: [{ content: "read both", priority: "high", status }, { content: "answer", priority: "low", status: "pending" }] });

// A model reads two files side by side, searches, updates its plan and answers.
async function checkSteps(editor, sessionId) {
  const c = editor.conversation(sessionId);
  editor.files.set(at("a.txt"), unsaved);
  editor.files.set(at("c.txt"), new Error("not open"));
  editor.hold(at("a.txt"), at("b.txt"));
  const reply = editor.prompt(sessionId, script(
    step("think Two files.", "say I read them.", call("read_file", { path: "a.txt" }), call("read_file", { path: "b.txt" })),
    step("say I search.", call("search", { pattern: "needle" }), call("read_file", { path: "c.txt" })),
    step("say I plan.", call("update_plan", plan("completed"))),
    step("say I err.", call("read_file", { path: 7 }), call("no_such_tool", {}), call("read_file", '{"path":'), call("read_file", { path: "../out" })),
    step("say Done."),
  ));
  await editor.until(() => editor.asked(at("a.txt")).length && editor.asked(at("b.txt")).length, "both reads");
  const [a, b] = c.calls();
  check("the editor is asked for two files side by side", a.status === "in_progress" && b.status === "in_progress", [a, b]);
  check("requests follow the calls that they belong to", followCalls(editor, sessionId), editor.frames.map((f) => f.params?.update ?? f.params ?? null).filter((f) => f?.status || f?.path));
  editor.release(at("a.txt"), at("b.txt"));
  const { stopReason } = await reply;
  check("the turn ends", stopReason === "end_turn", stopReason);
  checkCalls(c);
  checkOrder(c);
}

// followCalls reports whether each request for a file came after an update by which its call runs.
function followCalls(editor, sessionId) {
  return ["a.txt", "b.txt"].every((name) => {
    const request = editor.frames.findIndex((f) => f.method === "fs/read_text_file" && f.params.path === at(name));
    const runs = editor.frames.findIndex((f) => f.params?.update?.status === "in_progress" && f.params.update.locations?.[0]?.path === at(name));
    return 0 <= runs && runs < request && editor.frames[request].params.sessionId === sessionId;
  });
}

function checkCalls(c) {
  const [a, b, search, disk, planned, ...failed] = c.calls();
  check("a read shows its place and kind", a.kind === "read" && a.locations[0].path === at("a.txt") && a.title.includes("a.txt"), a);
  check("the result has the editor's unsaved text", a.status === "completed" && textOf(a).includes("unsaved needle"), a);
  check("the result has a file's text", b.status === "completed" && textOf(b).includes("text of b"), b);
  check("a file that the editor does not read is read from disk", disk.status === "completed" && textOf(disk).includes("text of c"), disk);
  check("the search finds the editor's unsaved text", search.kind === "search" && search.status === "completed" && textOf(search).includes("unsaved needle"), search);
  check("the plan is an update of its own", planned.kind === "think" && isDeepStrictEqual(c.plan, plan("completed").entries), [planned, c.plan]);
  check("inputs are shown", isDeepStrictEqual(a.rawInput, { path: "a.txt" }) && isDeepStrictEqual(search.rawInput, { pattern: "needle" }), [a, search]);
  check("calls that are wrong fail with a reason", failed.length === 4 && failed.every((f) => f.status === "failed" && textOf(f)), failed);
  check("ids are unique", new Set(c.calls().map((x) => x.toolCallId)).size === c.calls().length);
}

// checkOrder checks that each call is announced, runs and ends, in this order, before the text of the next step.
function checkOrder(c) {
  const said = c.entries.filter((e) => "agent" in e);
  check("each step is a message of its own", new Set(said.map((e) => e.id)).size === 5 && said.map((e) => e.agent).join() === "I read them.,I search.,I plan.,I err.,Done.", said);
  const states = (id) => c.changes.filter((x) => x.call === id).map((x) => x.status).join();
  const wrong = c.calls().filter((x) => states(x.toolCallId) !== (x.status === "completed" ? "pending,in_progress,completed" : "pending,failed"));
  const ran = (x) => states(x.toolCallId) === "pending,in_progress,failed"; // a failure while it ran
  check("a call is pending, in progress, completed", wrong.every(ran), wrong.map((x) => states(x.toolCallId)));
  check("a call is announced once", c.calls().every((x) => c.changes.filter((y) => y.call === x.toolCallId && y.announced).length === 1));
  let open = new Set();
  const early = c.changes.filter((x) => {
    if (x.call) open[["completed", "failed"].includes(x.status) ? "delete" : "add"](x.call);
    return x.text && open.size;
  });
  check("the calls of a step end before the text of the next one", early.length === 0, early);
  const usages = c.changes.flatMap((x, i) => (x.usage ? [c.changes.slice(0, i).findLast((y) => y.message)?.message] : []));
  check("usage follows each step", said.every((e) => usages.includes(e.id)), [usages, said.map((e) => e.id)]);
}

// A client without fs gets the text from disk.
async function checkWithoutFiles() {
  const editor = await connect({ readsFiles: false });
  const own = await editor.newSession(opt.cwd);
  const { stopReason } = await editor.prompt(own, script(step(call("read_file", { path: "a.txt" })), "say Done."));
  const [read] = editor.conversation(own).calls();
  check("without fs, a file is read from disk", stopReason === "end_turn" && read.status === "completed" && textOf(read).includes("text of a"), read);
  check("without fs, the editor is asked for nothing", !editor.frames.some((f) => f.method?.startsWith("fs/")));
  await editor.close();
  return own;
}

// A connection that loads the session while a call runs sees it as it is, and what follows.
async function checkLoadWhileACallRuns(editor, sessionId) {
  editor.hold(at("slow.txt"));
  const reply = editor.prompt(sessionId, script(
    step("say Slowly.", call("update_plan", plan("pending")), call("read_file", { path: "b.txt" }), call("read_file", { path: "slow.txt" })),
    step("say Read."),
  ));
  const c = editor.conversation(sessionId);
  await editor.until(() => {
    const [planned, b, slow] = c.calls().slice(-3);
    return slow?.title.includes("slow") && planned.status === "completed" && b.status === "completed" && editor.asked(at("slow.txt")).length;
  }, "one call that runs");
  const second = await connect();
  await second.load(sessionId, opt.cwd);
  const other = second.conversation(sessionId);
  const open = other.calls().at(-1);
  check("load while a call runs shows it in progress", open.status === "in_progress" && open.locations?.[0]?.path === at("slow.txt") && open.kind === "read", open);
  const before = c.shown();
  // The message of the prompt is the editor's own, and has no id until the response.
  other.entries.forEach((e, i) => "user" in e && before.entries[i] && (before.entries[i].id ??= e.id));
  checkConversation("load while a call runs", other.shown(), before);
  editor.release(at("slow.txt"));
  const { stopReason } = await reply;
  check("the turn ends after the answer", stopReason === "end_turn", stopReason);
  await second.until(() => other.entries.at(-1).agent === "Read.", "the end in the second connection");
  checkConversation("the second connection afterwards", other.shown(), c.shown());
  await second.close();
}

// Cancel with a call open: the call fails, and no update follows the response.
async function checkCancel(editor, sessionId) {
  editor.hold(at("slow.txt"));
  const before = editor.asked(at("slow.txt")).length;
  const reply = editor.prompt(sessionId, script(step("say Wait.", call("read_file", { path: "b.txt" }), call("read_file", { path: "slow.txt" })), "say Never."));
  await editor.until(() => editor.asked(at("slow.txt"))[before], "the request");
  const request = editor.asked(at("slow.txt"))[before];
  await editor.cancel(sessionId);
  const { stopReason } = await reply;
  const seen = editor.frames.length;
  check("cancel with a call open ends the turn as cancelled", stopReason === "cancelled", stopReason);
  const open = editor.conversation(sessionId).calls().at(-1);
  check("the open call is settled as failed", open.status === "failed" && textOf(open).includes("cancelled"), open);
  await editor.until(() => editor.frames.some((f) => f.method === "$/cancel_request" && f.params.requestId === request.id), "the cancellation of the request");
  editor.release(at("slow.txt"));
  await editor.fence();
  const late = editor.frames.slice(seen).filter((f) => f.method === "session/update");
  check("no update follows the response", late.length === 0, late);
  const next = await editor.prompt(sessionId, "say Again.");
  check("the next prompt works", next.stopReason === "end_turn" && editor.conversation(sessionId).entries.at(-1).agent === "Again.", next);
}

// A tool that the client has declared is called like the others, and its result is shown.
async function checkClientTool() {
  const editor = await connect();
  const own = await editor.newSession(opt.cwd, [
    { name: "open_tabs", description: "List the open files", kind: "read", readOnly: true, inputSchema: { type: "object", properties: { language: { type: "string" } } } },
    { name: "close_tab", description: "Close a file", kind: "other", inputSchema: { type: "object" } },
  ]);
  const calls = [];
  editor.tools.set("open_tabs", (params) => (calls.push(params), { content: [{ type: "text", text: "two tabs" }] }));
  editor.tools.set("close_tab", (params) => (calls.push(params), { content: [] }));
  editor.answers = ["reject_once", "allow_once"];
  const { stopReason } = await editor.prompt(own, script(
    step(call("open_tabs", { language: "go" }), call("read_file", { path: "b.txt" }), call("open_tabs", { language: 7 }), call("close_tab", {}), call("close_tab", { again: true })),
    "say Done.",
  ));
  const [tabs, read, wrong, closed, again] = editor.conversation(own).calls();
  check("the client's tool is called", stopReason === "end_turn" && tabs.status === "completed" && tabs.kind === "read" && textOf(tabs).includes("two tabs"), tabs);
  const want = [
    { sessionId: own, toolCallId: tabs.toolCallId, name: "open_tabs", input: { language: "go" } },
    { sessionId: own, toolCallId: again.toolCallId, name: "close_tab", input: { again: true } },
  ];
  check("the client's tool gets its input, once", isDeepStrictEqual(normal(calls), want), calls);
  const request = editor.frames.findIndex((f) => f.method === "_strata/tool/call");
  const runs = editor.frames.findIndex((f) => f.params?.update?.toolCallId === tabs.toolCallId && f.params.update.status === "in_progress");
  check("the request follows the call that it belongs to", 0 <= runs && runs < request, [runs, request]);
  check("the client's tool runs beside the server's", read.status === "completed" && textOf(read).includes("text of b"), read);
  check("a wrong input is not sent to the client", wrong.status === "failed" && textOf(wrong).includes("language"), wrong);
  check("a call that the user rejects does not run", closed.status === "failed" && textOf(closed).includes("rejected"), closed);
  check("a call that the user allows runs", again.status === "completed", again);
  check("the user is asked about both calls", isDeepStrictEqual(editor.questions.map((q) => q.toolCall.toolCallId), [closed.toolCallId, again.toolCallId]), editor.questions);
  check("there are three answers", isDeepStrictEqual(editor.questions[0].options.map((o) => o.kind), ["allow_once", "allow_always", "reject_once"]), editor.questions[0]);
  checkConversation("load with the client's tools", await loaded(own), editor.conversation(own).shown());
  await editor.close();
  return own;
}

async function talk() {
  const editor = await connect();
  const sessionId = await editor.newSession(opt.cwd);
  const shown = {};
  await checkSteps(editor, sessionId);
  checkConversation("load", await loaded(sessionId), editor.conversation(sessionId).shown());
  const others = [await checkWithoutFiles(), await checkClientTool()];
  await checkLoadWhileACallRuns(editor, sessionId);
  await checkCancel(editor, sessionId);
  shown[sessionId] = editor.conversation(sessionId).shown();
  for (const other of others) shown[other] = await loaded(other);
  checkConversation("load after a cancel", await loaded(sessionId), shown[sessionId]);
  await editor.close();
  await keep(shown);
}

await run("tools-check", { talk, load: async () => checkShown(await kept()) });
