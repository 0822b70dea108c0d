#!/usr/bin/env node
// Commands as ACP editors see them, in terminals of theirs and without, with the model offline/actor.
//   node terminals-check.mjs --sdk 1|2 --cwd DIR --state FILE --phase talk|load (--url ws://HOST/acp --token T | -- COMMAND [ARG...])
// DIR is empty. `talk` has commands run in several sessions and stores in FILE what other windows show of them; `load` wants the same
// of another server process.
import { access, writeFile } from "node:fs/promises";
import { at, call, check, checkConversation, checkShown, connect, keep, kept, loaded, opt, run, script, step, textOf } from "./checks.mjs";

const command = (line, more) => call("run_command", { command: line, ...more });
const shown = {}; // by session: what a window that loads it shows

// start returns a session with an editor.
async function start(options, approval = "auto") {
  const editor = await connect({ readsFiles: false, ...options });
  const sessionId = await editor.newSession(opt.cwd);
  if (approval) await editor.choose(sessionId, "approval", approval);
  return { editor, sessionId, c: editor.conversation(sessionId) };
}

const withTerminals = { runsCommands: true };

// window returns another connection that shows a session.
async function window(sessionId, options) {
  const other = await connect(options);
  await other.load(sessionId, opt.cwd);
  return { other, c: other.conversation(sessionId) };
}

// finish checks that nothing of the terminals is left, and keeps what a window that loads the session shows.
async function finish(name, editor, sessionId) {
  await editor.fence();
  const terminals = [...editor.terminals.all.values()];
  await editor.until(() => terminals.every((t) => t.released), "the release of all terminals");
  await editor.within(Promise.all(terminals.map((t) => t.exited)), "the end of all commands");
  check(`${name}: no request is about a terminal that was released`, editor.terminals.faults.length === 0, editor.terminals.faults);
  await editor.close();
  shown[sessionId] = await loaded(sessionId);
  const calls = shown[sessionId].entries.filter((e) => e.call).map((e) => e.call);
  check(`${name}: a loaded session shows texts`, calls.every((x) => textOf(x) && x.content.every((part) => part.type === "content")), calls);
}

async function ended(name, reply, want = "end_turn") {
  const { stopReason } = await reply;
  check(`${name}: the turn ends`, stopReason === want, stopReason);
}

const count = (list, item) => list.filter((x) => x === item).length;

// checkOrder checks the requests about a terminal: it is shown before it is released, once, and again with the result.
function checkOrder(name, editor, id, { killed = false, status = "completed" } = {}) {
  const all = editor.about(id);
  const before = all.slice(0, all.indexOf("release"));
  check(`${name}: the terminal is shown, waited for and released once`, all[0] === "in_progress" && before.includes("wait_for_exit") && count(all, "release") === 1, all);
  check(`${name}: nothing but the result follows the release`, all.slice(before.length + 1).every((x) => x === status), all);
  check(`${name}: the command is ${killed ? "killed once" : "not killed"}`, count(all, "kill") === (killed ? 1 : 0), all);
}

const terminalOf = (c) => (c.content?.length === 1 && c.content[0].type === "terminal" ? c.content[0].terminalId : null);

// A command runs in a terminal of the editor. Its end and its output are told to the model, and to other windows as text.
async function checkCommand() {
  const { editor, sessionId, c } = await start(withTerminals);
  const { other, c: seen } = await window(sessionId);
  await ended("a command", editor.prompt(sessionId, script(
    step("say I run.", command("pwd; printf 'one\\ntwo\\n'; echo three >&2; exit 3")),
    command("printf '%s' \"$PAGER\"; test -t 1 || echo ' no terminal'"),
    "say Done.",
  )));
  const created = editor.frames.filter((f) => f.method === "terminal/create").map((f) => f.params);
  check("a command is a line for the shell, in the folder of the session", created.length === 2 && created[0].command === "/bin/sh" && created[0].args[0] === "-c" && created[0].cwd === opt.cwd && created[0].outputByteLimit === 1 << 20 && created[0].sessionId === sessionId, created);
  const [first, second] = c.calls();
  check("the editor is shown its terminal", terminalOf(first) === "term-1" && terminalOf(second) === "term-2", [first, second]);
  for (const [i, id] of ["term-1", "term-2"].entries()) checkOrder(`command ${i + 1}`, editor, id, { status: c.calls()[i].status });
  await other.until(() => seen.entries.at(-1)?.agent === "Done.", "the end of the turn in the other window");
  const text = textOf(seen.calls()[0]) ?? "";
  check("another window is shown the result as text", ["one\ntwo\n", "three", "3", opt.cwd].every((part) => text.includes(part)), text);
  check("no other window is shown a terminal", !other.frames.some((f) => JSON.stringify(f).includes("terminalId")));
  check("a command runs without a pager", (textOf(seen.calls()[1]) ?? "").includes("cat"), seen.calls()[1]);
  await other.close();
  await finish("a command", editor, sessionId);
}

// waiting is a line that says something and then waits for a file.
const waiting = (text, file) => `echo ${text}; while [ ! -e ${file} ]; do sleep 0.05; done; echo after ${file}`;

// checkOutput checks that windows are shown the output of a command that runs: one that is there, and one that comes.
async function checkOutput(name, options) {
  const { editor, sessionId, c } = await start(options);
  const { other, c: seen } = await window(sessionId);
  const file = `go-${name.replaceAll(" ", "-")}`;
  const reply = editor.prompt(sessionId, script(command(waiting("early", file)), "say Done."));
  const early = (c) => c.calls()[0]?.status === "in_progress" && (textOf(c.calls()[0]) ?? "").includes("early");
  await other.until(() => early(seen), "the output in the other window");
  const update = other.frames.findLast((f) => f.params?.update?.status === "in_progress").params.update;
  check(`${name}: an update has the newest output and the size of all`, textOf(update) === "early\n" && update._meta.strata.output.end === 6, update);
  const { other: late, c: present } = await window(sessionId);
  await late.until(() => early(present), "the output in a window that comes late");
  if (options.runsCommands) check(`${name}: the editor is shown the terminal`, terminalOf(c.calls()[0]) === "term-1", c.calls()[0]);
  else await editor.until(() => early(c), "the output in the editor");
  await writeFile(at(file), "");
  await ended(name, reply);
  for (const [w, shows] of [[other, seen], [late, present]]) {
    await w.until(() => shows.entries.at(-1)?.agent === "Done.", "the end of the turn");
    const last = shows.calls()[0];
    check(`${name}: the result takes the place of the output`, last.status === "completed" && textOf(last).includes("early\nafter") && !w.frames.findLast((f) => f.params?.update?.toolCallId === last.toolCallId).params.update._meta, last);
    await w.close();
  }
  if (options.runsCommands) checkOrder(name, editor, "term-1");
  else check(`${name}: an editor without terminals is not asked for one`, !editor.frames.some((f) => f.method?.startsWith("terminal/")));
  await finish(name, editor, sessionId);
}

// Of a long output the editor keeps the end. The result says so.
async function checkTruncated() {
  const { editor, sessionId, c } = await start(withTerminals);
  await ended("truncated", editor.prompt(sessionId, script(command("i=0; while [ $i -lt 30000 ]; do echo \"line $i of a long output, made to be longer than all that is kept\"; i=$((i+1)); done"), "say Done.")));
  checkOrder("truncated", editor, "term-1");
  check("truncated: the editor has truncated the output", editor.terminals.all.get("term-1").truncated, c.calls()[0]);
  const stored = JSON.stringify(await editor.request("_strata/history/list", { sessionId }));
  check("truncated: the model is told the end, and that the start is missing", stored.includes("line 29999 of") && !stored.includes("line 0 of") && stored.includes("kept only the end"), stored.slice(0, 500));
  await finish("truncated", editor, sessionId);
}

// A cancel kills the command and releases its terminal, and does not wait for either. No process is left.
async function checkCancel() {
  const { editor, sessionId, c } = await start(withTerminals);
  const reply = editor.prompt(sessionId, script(command("echo begun; trap '' TERM; sleep 600"), "say Never."));
  await editor.until(() => editor.about("term-1").includes("wait_for_exit"), "the request for the end");
  await editor.cancel(sessionId);
  await ended("cancelled", reply, "cancelled");
  await editor.until(() => editor.about("term-1").includes("release"), "the release");
  checkOrder("cancelled", editor, "term-1", { killed: true, status: "failed" });
  const ids = editor.frames.filter((f) => f.method === "terminal/wait_for_exit").map((f) => f.id);
  check("cancelled: the request for the end is cancelled", ids.every((id) => editor.frames.some((f) => f.method === "$/cancel_request" && f.params.requestId === id)), ids);
  check("cancelled: the call has failed, and says so", c.calls()[0].status === "failed" && c.calls()[0]._meta?.strata.outcome === "cancelled", c.calls()[0]);
  await finish("cancelled", editor, sessionId);
}

// After its time limit a command is killed, and the turn goes on with what it has put out.
async function checkTimeLimit() {
  const { editor, sessionId } = await start(withTerminals);
  await ended("too long", editor.prompt(sessionId, script(command("echo begun; sleep 600", { timeout_s: 1 }), "say Done.")));
  await editor.until(() => editor.about("term-1").includes("release"), "the release");
  checkOrder("too long", editor, "term-1", { killed: true, status: "failed" });
  await finish("too long", editor, sessionId);
  const text = textOf(shown[sessionId].entries.find((e) => e.call).call);
  check("too long: the result has the output and the reason", text.includes("begun") && text.includes("time limit"), text);
}

// An editor that goes away takes its terminals with it. The turn goes on, and another window is told.
async function checkVanished() {
  const { editor, sessionId } = await start(withTerminals);
  const { other, c } = await window(sessionId);
  editor.prompt(sessionId, script(command("echo begun; sleep 600"), "say Done.")).catch(() => {});
  await editor.until(() => editor.about("term-1").includes("wait_for_exit"), "the request for the end");
  await editor.close();
  editor.terminals.end();
  await other.until(() => c.entries.at(-1)?.agent === "Done.", "the end of the turn");
  const [gone] = c.calls();
  check("vanished: the result says that the outcome is unknown", gone.status === "failed" && textOf(gone).includes("unknown"), gone);
  check("vanished: no other window is asked to run or end anything", !other.frames.some((f) => f.method?.startsWith("terminal/")));
  await other.close();
  shown[sessionId] = await loaded(sessionId);
}

// An editor that cannot create a terminal fails the call, not the turn. A command that nobody allows is not sent to it.
async function checkNotRun() {
  const { editor, sessionId, c } = await start(withTerminals, "ask");
  editor.answers = ["reject_once", "allow_once"];
  editor.terminals.refusal = new Error("no terminals today");
  await ended("not run", editor.prompt(sessionId, script(command(`touch rejected.txt`), command(`touch refused.txt`), "say Done.")));
  const [rejected, refused] = c.calls();
  check("not run: a question shows the line", JSON.stringify(editor.questions[0].toolCall).includes("touch rejected.txt"), editor.questions[0]);
  check("not run: both calls have failed", [rejected, refused].every((x) => x.status === "failed" && textOf(x)), [rejected, refused]);
  check("not run: only the allowed one is sent", editor.frames.filter((f) => f.method === "terminal/create").length === 1);
  for (const name of ["rejected.txt", "refused.txt"]) check(`not run: ${name} is not made`, await access(at(name)).then(() => false, () => true));
  await finish("not run", editor, sessionId);
}

async function talk() {
  await checkCommand();
  await checkOutput("in a terminal", withTerminals);
  await checkOutput("without terminals", {});
  await checkTruncated();
  await checkCancel();
  await checkTimeLimit();
  await checkVanished();
  await checkNotRun();
  await keep(shown);
}

async function load() {
  const before = await kept();
  check("there are sessions to load", Object.keys(before).length === 8, Object.keys(before));
  await checkShown(before);
  for (const [id, want] of Object.entries(before)) checkConversation("twice", await loaded(id), want);
}

await run("terminals-check", { talk, load });
