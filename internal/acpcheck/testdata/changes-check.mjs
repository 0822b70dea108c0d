#!/usr/bin/env node
// Changes of files as ACP editors see them, with the model offline/actor.
//   node changes-check.mjs --sdk 1|2 --cwd DIR --state FILE --phase talk|load (--url ws://HOST/acp --token T | -- COMMAND [ARG...])
// DIR is empty. `talk` has files changed in several sessions and stores in FILE what editors show of them; `load` wants the same of
// another server process, which must wait a second for an approval while nobody can be asked. The model local/test makes told.txt with
// write_file and then says what it was told.
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { at, call, check, checkConversation, checkShown, connect, keep, kept, loaded, opt, run, script, sdk, step, textOf } from "./checks.mjs";

const read = (path) => call("read_file", { path });
const edit = (path, old_text, new_text) => call("edit_file", { path, edits: [{ old_text, new_text }] });
const write = (path, content) => call("write_file", { path, content });
const onDisk = (name) => readFile(at(name), "utf8").catch(() => null);
const diffsOf = (c) => (c.content ?? []).filter((part) => part.type === "diff");
const unix = (text) => text?.replaceAll("\r\n", "\n");
const shown = {}; // by session: what an editor shows of it
const goesOn = []; // the edits that follow after the restart

const changing = ["edit", "delete", "move"]; // kinds of calls

// patched returns a text after the changes that a client was shown, or null if they don't belong to it.
function patched(text, diffs) {
  const lines = (text ?? "").split(/(?<=\n)/);
  let moved = 0; // lines that were added before
  for (const { oldText, newText, _meta } of diffs) {
    const [before, after] = [oldText ?? "", newText].map((t) => t.split(/(?<=\n)/).filter(Boolean));
    const start = _meta.strata.oldLine - 1 + moved;
    if (start !== _meta.strata.newLine - 1 || lines.splice(start, before.length, ...after).join("") !== before.join("")) return null;
    moved += after.length - before.length;
  }
  return lines.join("");
}

// start returns a session with an editor, and with files that have these texts.
async function start(files, options, approval) {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(at(name)), { recursive: true });
    await writeFile(at(name), text);
  }
  const editor = await connect({ readsFiles: false, ...options });
  const sessionId = await editor.newSession(opt.cwd);
  if (approval) await editor.choose(sessionId, "approval", approval);
  return { editor, sessionId, c: editor.conversation(sessionId) };
}

// finish checks that another connection shows the session as the editor does, and keeps that.
async function finish(name, editor, sessionId) {
  shown[sessionId] = editor.conversation(sessionId).shown();
  await checkListed(name, editor, sessionId);
  checkConversation(name, await loaded(sessionId), shown[sessionId]);
  await editor.close();
}

const unsaved = new Set(); // paths of files with a text that the editor has not saved after it

// checkListed checks that the server lists the changes of a session as its calls have made them, with the bytes that files have now.
async function checkListed(name, editor, sessionId) {
  const { changes } = await editor.request("_strata/turn/changes", { sessionId });
  const made = editor.conversation(sessionId).calls().filter((x) => changing.includes(x.kind) && x.status === "completed");
  const turns = [...new Set(changes.map((x) => x.turnId))].reverse();
  const done = turns.flatMap((turn) => changes.filter((x) => x.turnId === turn)).filter((x) => x.state === "done"); // oldest first
  check(`${name}: the changes are listed`, isDeepStrictEqual(done.map((x) => x.callId), made.map((x) => x.toolCallId)), [changes, made]);
  check(`${name}: changes that were not made are listed as such`, changes.every((x) => x.state === "done" || x.state === "not_done"), changes);
  const told = done.map((x) => ({ call: made.find((y) => y.toolCallId === x.callId), hunks: x.diff?.hunks ?? [] }));
  const wrong = told.filter(({ call, hunks }) => !isDeepStrictEqual(hunks.map((h) => [h.oldStart, h.newStart, h.old ?? "", h.new ?? ""]), diffsOf(call).map((d) => [d._meta.strata.oldLine, d._meta.strata.newLine, d.oldText ?? "", d.newText])));
  check(`${name}: the diffs are those that the client was told`, wrong.length === 0, wrong);
  const last = new Map(done.map((x) => [x.path, x]));
  for (const { path, kind, after } of last.values()) {
    const bytes = await readFile(path).catch(() => null);
    const now = bytes && createHash("sha256").update(bytes).digest("hex");
    if (kind !== "move" && !unsaved.has(path)) check(`${name}: ${basename(path)} is as listed`, now === (kind === "delete" ? null : after), [now, last.get(path)]);
  }
}

async function ended(name, reply) {
  const { stopReason } = await reply;
  check(`${name}: the turn ends`, stopReason === "end_turn", stopReason);
}

// An edit is shown with its diff, asked about, and made once it is allowed. The next one is asked about, too, until always.
async function checkAllowed() {
  const before = "one\ntwo\nthree\nfour\nfive\nsix\n";
  const { editor, sessionId, c } = await start({ "allowed.txt": before });
  const reply = editor.prompt(sessionId, script(
    step("say I read.", read("allowed.txt")),
    edit("allowed.txt", "two\n", "2\n"),
    edit("allowed.txt", "2\n", "zwei\n"),
    step(edit("allowed.txt", "zwei\n", "deux\n"), edit("allowed.txt", "six", "6")),
    write("made.txt", "new\n"),
    "say Done.",
  ));
  const question = await editor.asks();
  const pending = c.calls()[1];
  const { toolCall, options } = question.params;
  check("the question has the diff", patched(before, diffsOf(toolCall)) === before.replace("two", "2"), toolCall);
  check("the question has the call as it is shown", isDeepStrictEqual(pending, { ...pending, ...toolCall }) && toolCall.status === "pending" && toolCall.kind === "edit", [toolCall, pending]);
  check("the question has the absolute path", toolCall.locations[0].path === at("allowed.txt") && diffsOf(toolCall).every((d) => d.path === at("allowed.txt")), toolCall);
  check("there are three answers", options.map((o) => o.kind).join() === "allow_once,allow_always,reject_once", options);
  check("the question follows the call that it belongs to", followsDiff(editor, question), toolCall.toolCallId);
  check("nothing is changed before the answer", (await onDisk("allowed.txt")) === before);
  editor.answers = ["allow_once", "allow_always"]; // to the next ones
  question.answer("allow_once");
  const made = await editor.asks("the question about another tool");
  const asked = editor.questions.map((q) => q.toolCall.toolCallId);
  check("once holds once, always for all edits", isDeepStrictEqual(asked, [1, 2, 3, 5].map((i) => c.calls()[i].toolCallId)), [asked, c.calls()]);
  made.answer("allow_once");
  await ended("allowed", reply);
  const edits = c.calls().slice(1, 5);
  check("each edit is made", edits.every((x) => x.status === "completed" && textOf(x).includes("Edited allowed.txt")) && (await onDisk("allowed.txt")) === "one\ndeux\nthree\nfour\nfive\n6\n", edits);
  check("the results have the diffs", edits.reduce((text, x) => patched(text, diffsOf(x)), before) === (await onDisk("allowed.txt")), edits);
  const [diff] = diffsOf(c.calls()[5]);
  check("a new file is shown as one", diff.oldText === null && diff.newText === "new\n" && (await onDisk("made.txt")) === "new\n", c.calls()[5]);
  await ended("allowed always", editor.prompt(sessionId, script(edit("allowed.txt", "deux", "trois"), "say Done.")));
  check("always holds in the next turn", editor.questions.length === 4 && (await onDisk("allowed.txt")).includes("trois"), editor.questions);
  goesOn.push({ sessionId, name: "allowed.txt", from: "trois", to: "tre" });
  await finish("allowed", editor, sessionId);
}

// followsDiff reports whether a question came after the update that shows its diff.
function followsDiff(editor, { id, params: { toolCall } }) {
  const asked = editor.frames.findIndex((f) => f.id === id && f.method);
  const told = editor.frames.findIndex((f) => f.params?.update?.toolCallId === toolCall.toolCallId && diffsOf(f.params.update).length);
  return 0 <= told && told < asked;
}

// A rejection brings the user's words to the model, which goes on.
async function checkRejected() {
  const { editor, sessionId, c } = await start({});
  await editor.choose(sessionId, "model", "local/test");
  editor.answers = [{ outcome: { outcome: "selected", optionId: "reject_once" }, _meta: { strata: { message: "Not on Fridays." } } }];
  await ended("rejected", editor.prompt(sessionId, "Make told.txt"));
  const [made] = c.calls();
  check("a rejected change is not made", made.status === "failed" && diffsOf(made).length === 0 && (await onDisk("told.txt")) === null, made);
  check("the result has the user's words", textOf(made).includes("rejected") && textOf(made).includes("Not on Fridays."), made);
  const said = c.entries.findLast((e) => e.agent)?.agent;
  check("the model's next request has the user's words", said?.startsWith("I was told: ") && said.includes("Not on Fridays."), said);
  await finish("rejected", editor, sessionId);
}

// With two windows the first answer counts. The other's question is cancelled, and it sees what comes of the call.
async function checkTwoWindows() {
  const { editor, sessionId, c } = await start({ "windows.txt": "one\n" });
  const other = await connect({ readsFiles: false });
  await other.load(sessionId, opt.cwd);
  const reply = editor.prompt(sessionId, script(read("windows.txt"), edit("windows.txt", "one", "1"), edit("windows.txt", "1", "eins"), "say Done."));
  for (const [answers, waits, option, status] of [[other, editor, "allow_once", "completed"], [editor, other, "reject_once", "failed"]]) {
    const [first, late] = [await answers.asks(), await waits.asks()];
    const { toolCall } = first.params;
    check("both windows are asked the same", isDeepStrictEqual(first.params, late.params), [first.params, late.params]);
    first.answer(option);
    await waits.until(() => late.isCancelled, "the cancellation");
    check("the SDK has cancelled the question", opt.sdk === "1" || late.signal.aborted);
    const seen = await waits.until(() => waits.conversation(sessionId).calls().find((x) => x.toolCallId === toolCall.toolCallId && x.status === status), status);
    check(`the other window sees the call ${status}`, seen);
    check("the window that has answered is not cancelled", !answers.frames.some((f) => f.method === "$/cancel_request" && f.params.requestId === first.id));
  }
  await ended("two windows", reply);
  check("the change is made once", (await onDisk("windows.txt")) === "1\n", await onDisk("windows.txt"));
  await other.until(() => other.conversation(sessionId).entries.at(-1)?.agent === "Done.", "the end in the other window");
  other.conversation(sessionId).entries[0].id ??= c.entries[0].id;
  checkConversation("the other window", other.conversation(sessionId).shown(), c.shown());
  await other.close();
  await finish("two windows", editor, sessionId);
}

// An editor goes away while it is asked. It is asked again when it is back, and the turn has waited.
async function checkBack() {
  const { editor, sessionId } = await start({ "back.txt": "one\n" });
  const reply = editor.prompt(sessionId, script(read("back.txt"), edit("back.txt", "one", "1"), "say Done.")).catch((e) => e);
  const asked = (await editor.asks()).params;
  await editor.close();
  await reply;
  const back = await connect({ readsFiles: false });
  await back.load(sessionId, opt.cwd);
  const question = await back.asks();
  const c = back.conversation(sessionId);
  check("an editor that is back is asked again", isDeepStrictEqual(question.params, asked), [question.params, asked]);
  check("an editor that is back sees the call with its diff", c.calls().at(-1).status === "pending" && isDeepStrictEqual(diffsOf(c.calls().at(-1)), diffsOf(asked.toolCall)), c.calls());
  question.answer("allow_once");
  await back.until(() => c.entries.at(-1)?.agent === "Done.", "the end of the turn");
  check("the change is made after the editor was away", c.calls().at(-1).status === "completed" && (await onDisk("back.txt")) === "1\n", c.calls());
  await finish("away and back", back, sessionId);
}

// The user changes the approval while a question is open. It decides on the call that waits.
async function checkSwitched() {
  const { editor, sessionId, c } = await start({ "switched.txt": "one\n" });
  const choose = (value) => editor.choose(sessionId, "approval", value);
  const mode = (modeId) => editor.request("session/set_mode", { sessionId, modeId });
  for (const [approval, set, status, word, text] of [["read-only", choose, "failed", "read-only", "one\n"], ["edits", mode, "completed", "Edited", "1\n"]]) {
    await choose("ask");
    const reply = editor.prompt(sessionId, script(read("switched.txt"), edit("switched.txt", "one", "1"), "say Done."));
    const question = await editor.asks();
    await set(approval);
    await ended(`approval ${approval} while it asks`, reply);
    const made = c.calls().at(-1);
    check(`approval ${approval} decides on the call that waits`, made.status === status && textOf(made).includes(word) && (await onDisk("switched.txt")) === text, made);
    await editor.until(() => question.isCancelled, "the cancellation");
    check(`approval ${approval} cancels the question`, opt.sdk === "1" || question.signal.aborted);
  }
  await finish("approval switched", editor, sessionId);
}

// What other programs run or trust is asked about in any case, and cannot be allowed always.
async function checkProtected() {
  const tasks = ".vscode/tasks.json";
  const { editor, sessionId, c } = await start({ [tasks]: "[1]\n", "free.txt": "one\n" }, {}, "edits");
  editor.answers = ["allow_once", "reject_once"];
  await ended("protected", editor.prompt(sessionId, script(
    step(read(tasks), read("free.txt")), edit("free.txt", "one", "1"), edit(tasks, "1", "2"), write("AGENTS.md", "Obey.\n"), "say Done.",
  )));
  const [, , free, changed, agents] = c.calls();
  check("approval edits asks only about protected paths", isDeepStrictEqual(editor.questions.map((q) => q.toolCall.toolCallId), [changed, agents].map((x) => x.toolCallId)), editor.questions);
  check("a protected path can only be allowed once", editor.questions.every((q) => q.options.map((o) => o.kind).join() === "allow_once,reject_once"), editor.questions[0]?.options);
  check("a protected path is changed once it is allowed", free.status === "completed" && changed.status === "completed" && (await onDisk(tasks)) === "[2]\n", [free, changed]);
  check("a protected path is not changed if it is rejected", agents.status === "failed" && (await onDisk("AGENTS.md")) === null, agents);
  await finish("protected", editor, sessionId);
}

// What is changed while it asks is not overwritten: another text, or another file with the same text.
async function checkSwapped() {
  await checkSwappedIn("swapped", {});
  await checkSwappedIn("swapped-in-an-editor", withFiles);
}

async function checkSwappedIn(folder, options) {
  const text = "one\ntwo\n";
  const paths = ["text.txt", "link.txt", "folder/file.txt"].map((name) => `${folder}/${name}`);
  const { editor, sessionId, c } = await start({ ...Object.fromEntries(paths.map((path) => [path, text])), "elsewhere/file.txt": text }, options);
  const swaps = [
    () => writeFile(at(paths[0]), "one\ntwo!\n"),
    () => rm(at(paths[1])).then(() => symlink(at("elsewhere/file.txt"), at(paths[1]))),
    () => rm(at(`${folder}/folder`), { recursive: true }).then(() => symlink(at("elsewhere"), at(`${folder}/folder`))),
  ];
  for (const [i, path] of paths.entries()) {
    const reply = editor.prompt(sessionId, script(read(path), edit(path, "two", "2"), "say Done."));
    const question = await editor.asks();
    await swaps[i]();
    question.answer("allow_once");
    await ended(path, reply);
    const changed = c.calls().at(-1);
    check(`${path} is swapped while it asks: the change is not made`, changed.status === "failed" && textOf(changed).includes("Nothing was changed"), changed);
  }
  check(`${folder}: the editor is not told to save`, !editor.frames.some((f) => f.method === "fs/write_text_file"));
  check(`${folder}: what was changed while it asked stays`, (await onDisk(paths[0])) === "one\ntwo!\n" && (await onDisk("elsewhere/file.txt")) === text);
  await finish(folder, editor, sessionId);
}

// The user types in a file while it asks: that is not overwritten.
async function checkTyped() {
  const { editor, sessionId, c } = await start({ "typed.txt": "one\n" }, withFiles);
  const reply = editor.prompt(sessionId, script(read("typed.txt"), edit("typed.txt", "one", "1"), "say Done."));
  const question = await editor.asks();
  editor.files.set(at("typed.txt"), "one\ntyped\n");
  question.answer("allow_once");
  await ended("typed", reply);
  const changed = c.calls().at(-1);
  check("what the user types while it asks is not overwritten", changed.status === "failed" && textOf(changed).includes("typed.txt has changed") && !editor.frames.some((f) => f.method === "fs/write_text_file"), changed);
  await finish("typed", editor, sessionId);
}

// New files are made by the editor, with the folders that they need. Files are deleted and moved on disk.
async function checkOtherTools() {
  const { editor, sessionId, c } = await start({ "delete.txt": "gone\n", "move.txt": "one\ntwo\n" }, withFiles);
  const saved = [];
  editor.write = async ({ path, content }) => {
    saved.push(path);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  };
  editor.answers = Array(6).fill("allow_once");
  await ended("other tools", editor.prompt(sessionId, script(
    step(read("delete.txt"), read("move.txt")), write("new/folder/file.txt", "new\n"), edit("new/folder/file.txt", "new", "neu"),
    call("delete_file", { path: "delete.txt" }), call("move_file", { from: "move.txt", to: "moved/to.txt" }), edit("moved/to.txt", "two", "2"), "say Done.",
  )));
  const [, , made, , deleted, moved, edited] = c.calls();
  check("the other tools change files", c.calls().every((x) => x.status === "completed") && [made, deleted, moved].map((x) => x.kind).join() === "edit,delete,move", c.calls());
  check("a file is made by the editor, and then edited", (await onDisk("new/folder/file.txt")) === "neu\n" && told("", [made]) === "new\n" && diffsOf(made)[0].oldText === null, made);
  const [diff] = diffsOf(deleted);
  check("a deletion is shown as one", diff.oldText === "gone\n" && diff.newText === "" && diff._meta.strata.deleted && (await onDisk("delete.txt")) === null, deleted);
  check("a move has both places", isDeepStrictEqual(moved.locations.map((l) => l.path), [at("move.txt"), at("moved/to.txt")]) && (await onDisk("move.txt")) === null, moved);
  check("a moved file is edited without a read", (await onDisk("moved/to.txt")) === "one\n2\n", edited);
  check("the editor is told to save what it can", isDeepStrictEqual(saved, ["new/folder/file.txt", "new/folder/file.txt", "moved/to.txt"].map(at)), saved);
  check("the user is asked about each", editor.questions.length === 5, editor.questions);
  await finish("other tools", editor, sessionId);
}

// A cancel while it asks ends the turn, and the question.
async function checkCancel() {
  const { editor, sessionId, c } = await start({ "cancel.txt": "one\n" });
  const reply = editor.prompt(sessionId, script(read("cancel.txt"), step(edit("cancel.txt", "one", "1"), read("cancel.txt")), "say Never."));
  const question = await editor.asks();
  await editor.cancel(sessionId);
  const { stopReason } = await reply;
  const [, edited, after] = c.calls();
  check("a cancel while it asks ends the turn as cancelled", stopReason === "cancelled", stopReason);
  check("a cancel while it asks settles the calls", [edited, after].every((x) => x.status === "failed" && x._meta.strata.outcome === "cancelled"), [edited, after]);
  await editor.until(() => question.isCancelled, "the cancellation");
  await editor.fence();
  check("a cancelled change is not made", (await onDisk("cancel.txt")) === "one\n");
  await finish("cancelled", editor, sessionId);
}

// What editors do with a text that they are told to save: they return what they save. `text` is the file before, `read` the text as
// the editor shows it, if it is not that of the disk.
const habits = {
  "keeps the text": { text: "one\r\n\ttwo\nthree", edited: "one\r\n\tzwei\nthree", saves: (text) => text },
  "normalises line ends": { text: "one\r\ntwo\r\nthree\r\n", saves: (text) => text.replaceAll("\r\n", "\n"), edited: "one\nzwei\nthree\n" },
  "shows LF and saves CRLF": { text: "one\r\ntwo\r\nthree\r\n", read: "one\ntwo\nthree\n", saves: (text) => text.replaceAll("\n", "\r\n"), edited: "one\r\nzwei\r\nthree\r\n" },
  "adds a final line end": { text: "one\ntwo", saves: (text) => text.replace(/\n?$/, "\n"), edited: "one\nzwei\n", further: true },
  "formats the text": { text: "one\n\ttwo\n\tthree\n", saves: (text) => text.replaceAll("\t", "  "), edited: "one\n  zwei\n  three\n", further: true },
  "saves what was unsaved": { text: "one\ntwo\n", read: "unsaved\none\ntwo\n", saves: (text) => text, edited: "unsaved\none\nzwei\n" },
};

// withFiles returns the options of an editor that serves files.
const withFiles = { readsFiles: true, writesFiles: true };

// told returns the text after the changes that the client was told of, one call after the other.
const told = (text, edits) => edits.reduce((now, x) => patched(now, diffsOf(x)), unix(text));

// Editors save a text in their own way. The next edit of the same lines needs no read, whether the editor or the disk shows it.
async function checkHabits() {
  await checkSaving("reads and saves", withFiles, habits);
  const ofDisk = Object.entries(habits).filter(([, { read }]) => !read);
  await checkSaving("only saves", { writesFiles: true }, Object.fromEntries(ofDisk));
}

async function checkSaving(does, options, habits) {
  const nameOf = (habit) => `${does} ${habit}.txt`.replaceAll(" ", "-");
  const files = Object.entries(habits).map(([habit, { text }]) => [nameOf(habit), text]);
  const { editor, sessionId, c } = await start(Object.fromEntries(files), options, "edits");
  const saved = []; // as they were sent
  for (const [habit, { text, read: open, saves, edited, further }] of Object.entries(habits)) {
    const [who, name, first] = [`an editor that ${does} and ${habit}`, nameOf(habit), c.calls().length];
    if (open) editor.files.set(at(name), open);
    editor.write = async ({ path, content }) => {
      saved.push(content);
      await writeFile(path, saves(content));
      if (open) editor.files.set(path, unix(saves(content)));
    };
    await ended(who, editor.prompt(sessionId, script(read(name), edit(name, "two", "2"), edit(name, "2", "zwei"), "say Done.")));
    const edits = c.calls().slice(first + 1);
    check(`${who}: both edits are made`, edits.length === 2 && edits.every((x) => x.status === "completed"), edits);
    check(`${who}: the file is right`, (await onDisk(name)) === edited, await onDisk(name));
    check(`${who}: the client was told the changes`, told(open ?? text, edits) === unix(edited), [told(open ?? text, edits), edits]);
    check(`${who}: the result says so`, textOf(edits[0]).includes("changed the text further") === Boolean(further) && !textOf(edits[1]).includes("changed the text further"), edits);
  }
  goesOn.push({ sessionId, name: nameOf("formats the text"), from: "zwei", to: "drei" });
  check(`an editor that ${does} is told to save each edit`, saved.length === 2 * Object.keys(habits).length, saved);
  check(`an editor that ${does} is asked about no edit`, editor.questions.length === 0);
  await finish(`an editor that ${does}`, editor, sessionId);
}

// An editor does not save at once, or refuses. Nothing is lost, and the result says what became of the change.
async function checkUnsaved() {
  const text = "one\ntwo\n";
  const { editor, sessionId, c } = await start({ "later.txt": text, "refused.txt": text, "lies.txt": text }, withFiles, "edits");
  editor.write = async ({ path, content }) => {
    if (path === at("later.txt")) editor.files.set(path, content);
    if (path === at("refused.txt")) throw new sdk.acp.RequestError(-32001, "the file is locked");
  };
  unsaved.add(at("later.txt"));
  const twice = (name) => editor.prompt(sessionId, script(read(name), edit(name, "two", "2"), edit(name, name === "later.txt" ? "2" : "two", "zwei"), "say Done."));
  await ended("an editor that saves later", twice("later.txt"));
  const later = c.calls().slice(-2);
  check("an edit that is not saved is made in the editor", later.every((x) => x.status === "completed") && editor.files.get(at("later.txt")) === "one\nzwei\n" && (await onDisk("later.txt")) === text, later);
  check("an edit that is not saved: the client was told the changes", told(text, later) === "one\nzwei\n", later);
  check("an edit that is not saved: the result says so", later.every((x) => textOf(x).includes("not saved it yet")), later);
  await ended("an editor that refuses", twice("refused.txt"));
  const refused = c.calls().slice(-2);
  check("an editor that refuses: nothing is changed", refused.every((x) => x.status === "failed") && (await onDisk("refused.txt")) === text, refused);
  check("an editor that refuses: the result has its words", refused.every((x) => textOf(x).includes("the file is locked") && textOf(x).includes("refused.txt has not changed")), refused);
  await ended("an editor that does nothing", twice("lies.txt"));
  const lies = c.calls().slice(-2);
  check("an editor that does nothing: the result says so", lies.every((x) => x.status === "failed" && textOf(x).includes("did not write the text")) && (await onDisk("lies.txt")) === text, lies);
  await finish("editors that do not save", editor, sessionId);
}

// Changes are taken back, and put forward again. What the user had typed before them is not lost, although it was not saved.
async function checkTakenBack() {
  await checkTypedComesBack("typed-in.txt", { "typed-in.txt": "one\ntwo\n" });
  await checkTypedComesBack("never-saved.txt", {});
}

async function checkTypedComesBack(name, files) {
  const [before, after] = ["typed\none\ntwo\n", "typed\none\nzwei\n"];
  const { editor, sessionId } = await start(files, withFiles, "edits");
  editor.files.set(at(name), before);
  editor.write = async ({ path, content }) => {
    await writeFile(path, content);
    editor.files.delete(path);
  };
  await ended(name, editor.prompt(sessionId, script(read(name), edit(name, "two", "2"), edit(name, "2", "zwei"), "say Done.")));
  const { changes } = await editor.request("_strata/turn/changes", { sessionId });
  const revert = (how) => editor.request("_strata/changes/revert", { sessionId, changeIds: changes.map((x) => x.id), ...how });
  const preview = await revert({ preview: true });
  check(`${name}: a preview shows what would be taken back`, preview.files[0].diff.hunks[0].new === before && (await onDisk(name)) === after, preview);
  const back = await revert();
  check(`${name}: what the user had typed is there after the changes are taken back`, back.files[0].outcome === "restored" && (await onDisk(name)) === before, [back, await onDisk(name)]);
  const forward = await revert({ forward: true });
  check(`${name}: the changes are put forward again`, forward.files[0].outcome === "restored" && (await onDisk(name)) === after, [forward, await onDisk(name)]);
  await finish(name, editor, sessionId);
}

// The editor goes away while it saves: before it has saved, or after it. The server finds out, and goes on without it.
async function checkGone() {
  const text = "one\ntwo\n";
  for (const [name, saves] of [["gone-before.txt", false], ["gone-after.txt", true]]) {
    const { editor, sessionId } = await start({ [name]: text }, withFiles, "edits");
    editor.write = async ({ path, content }) => {
      if (saves) await writeFile(path, content);
      await editor.close();
    };
    await editor.prompt(sessionId, script(read(name), edit(name, "two", "2"), edit(name, saves ? "2" : "two", "zwei"), "say Done.")).catch(() => {});
    const back = await connect({ readsFiles: false });
    await back.load(sessionId, opt.cwd);
    const c = back.conversation(sessionId);
    await back.until(() => c.entries.at(-1)?.agent === "Done.", "the end of the turn");
    const [first, second] = c.calls().slice(-2);
    const words = saves ? "The file has the new text, although the editor's connection ended" : `Nothing was changed: the editor's connection ended before its response; ${name} has not changed`;
    check(`${name}: what became of the change is known`, first.status === (saves ? "completed" : "failed") && textOf(first).includes(words), first);
    check(`${name}: the next edit is made without the editor and without a read`, second.status === "completed" && (await onDisk(name)) === "one\nzwei\n", second);
    check(`${name}: the client was told the changes`, told(text, saves ? [first, second] : [second]) === "one\nzwei\n", [first, second]);
    await finish(name, back, sessionId);
  }
}

// The editor goes away with a text that was not saved, while it is told to save it. The model's edit was made in that text.
async function checkGoneUnsaved() {
  const { editor, sessionId } = await start({ "gone-unsaved.txt": "one\n" }, withFiles, "edits");
  editor.files.set(at("gone-unsaved.txt"), "one\nunsaved\n");
  editor.write = () => editor.close();
  await editor.prompt(sessionId, script(read("gone-unsaved.txt"), edit("gone-unsaved.txt", "unsaved", "1"), edit("gone-unsaved.txt", "one", "1"), "say Done.")).catch(() => {});
  const back = await connect({ readsFiles: false });
  await back.load(sessionId, opt.cwd);
  const c = back.conversation(sessionId);
  await back.until(() => c.entries.at(-1)?.agent === "Done.", "the end of the turn");
  const [first, second] = c.calls().slice(-2);
  check("an editor that goes away with an unsaved text: nothing is changed", first.status === "failed" && textOf(first).includes("Nothing was changed"), first);
  check("an editor that goes away with an unsaved text: its lines must be read again", second.status === "failed" && textOf(second).includes("Read them first") && (await onDisk("gone-unsaved.txt")) === "one\n", second);
  await finish("gone-unsaved.txt", back, sessionId);
}

// The window that has sent the prompt is told to save, whoever allows it. Once it is gone, the other one is.
async function checkHandedOver() {
  const { editor, sessionId } = await start({ "handed.txt": "one\n" }, withFiles);
  const other = await connect(withFiles);
  await other.load(sessionId, opt.cwd);
  const savedBy = [];
  for (const [name, window] of Object.entries({ editor, other })) {
    const saves = window.write;
    window.write = (params) => (savedBy.push(name), saves(params));
  }
  const reply = editor.prompt(sessionId, script(read("handed.txt"), edit("handed.txt", "one", "1"), edit("handed.txt", "1", "eins"), "say Done.")).catch(() => {});
  const first = await other.asks();
  first.answer("allow_once");
  const second = await other.until(() => other.open.find((q) => q !== first && !q.isCancelled), "the second question");
  await editor.close();
  await reply;
  second.answer("allow_once");
  const c = other.conversation(sessionId);
  await other.until(() => c.entries.at(-1)?.agent === "Done.", "the end of the turn");
  check("the window of the prompt saves, and the other one after it", savedBy.join() === "editor,other" && (await onDisk("handed.txt")) === "eins\n", [savedBy, c.calls()]);
  await finish("handed over", other, sessionId);
}

// signal returns something to wait for.
function signal() {
  let give;
  return { given: new Promise((resolve) => (give = resolve)), give };
}

// A cancel while the editor saves does not wait for it. The result says what is known.
async function checkCancelSaving() {
  for (const [name, saves] of [["cancelled-before.txt", false], ["cancelled-after.txt", true]]) {
    const { editor, sessionId, c } = await start({ [name]: "one\n" }, withFiles, "edits");
    const [saving, late] = [signal(), signal()];
    editor.write = async ({ path, content }) => {
      if (saves) await writeFile(path, content);
      saving.give();
      await late.given;
    };
    const reply = editor.prompt(sessionId, script(read(name), edit(name, "one", "1"), "say Never."));
    await editor.within(saving.given, "the request to save");
    await editor.cancel(sessionId);
    const { stopReason } = await reply;
    const edited = c.calls().at(-1);
    check(`${name}: a cancel while the editor saves ends the turn`, stopReason === "cancelled", stopReason);
    check(`${name}: the result says what is known`, textOf(edited).includes(saves ? "The file has the new text" : "The editor may still write the file"), edited);
    late.give();
    await editor.fence();
    await finish(name, editor, sessionId);
  }
}

// Without fs, or with reading only, files are changed on disk, but not below an unsaved text.
async function checkOnDisk() {
  const text = "\ufeffone\r\ntwo\r\nthree";
  for (const readsFiles of [false, true]) {
    const name = readsFiles ? "read-only.txt" : "without-fs.txt";
    const { editor, sessionId, c } = await start({ [name]: text, "unsaved.txt": "one\n" }, { readsFiles }, "edits");
    editor.files.set(at("unsaved.txt"), "one\nunsaved\n");
    await ended(name, editor.prompt(sessionId, script(
      step(read(name), read("unsaved.txt")), edit(name, "two", "2"), edit(name, "2", "zwei"), edit("unsaved.txt", "one", "1"), "say Done.",
    )));
    const edits = c.calls().slice(2, 4);
    check(`${name}: the file is changed on disk, and all else is kept`, edits.every((x) => x.status === "completed") && (await onDisk(name)) === "\ufeffone\r\nzwei\r\nthree", [edits, await onDisk(name)]);
    check(`${name}: the client was told the changes`, told(text.slice(1), edits) === "one\nzwei\nthree", edits);
    check(`${name}: the editor is asked for nothing that it cannot do`, !editor.frames.some((f) => f.method === "fs/write_text_file" || (!readsFiles && f.method?.startsWith("fs/"))));
    const unsaved = c.calls()[4];
    if (readsFiles) check("an unsaved text is not lost", unsaved.status === "failed" && textOf(unsaved).includes("has unsaved changes") && (await onDisk("unsaved.txt")) === "one\n", unsaved);
    else check("without fs, an editor's unsaved text is unknown", unsaved.status === "completed" && (await onDisk("unsaved.txt")) === "1\n", unsaved);
    await finish(name, editor, sessionId);
  }
}

// The server stops while a question is open. The question is left to the next phase.
async function leaveOpen() {
  const { editor, sessionId, c } = await start({ "left.txt": "one\n" });
  editor.prompt(sessionId, script(read("left.txt"), edit("left.txt", "one", "1"), "say Never.")).catch(() => {});
  await editor.asks();
  return { sessionId, asked: c.calls().at(-1) };
}

// A call that was open when the server stopped is settled.
async function checkLeft({ sessionId, asked }) {
  const editor = await connect();
  await editor.load(sessionId, opt.cwd);
  const left = editor.conversation(sessionId).calls().at(-1);
  check("a call that waited when the server stopped is settled", left.toolCallId === asked.toolCallId && left.status === "failed" && left._meta.strata.outcome === "interrupted", left);
  check("a call that waited when the server stopped has changed nothing", diffsOf(left).length === 0 && (await onDisk("left.txt")) === "one\n", left);
  await editor.fence();
  check("nobody is asked about it again", editor.questions.length === 0);
  await editor.close();
}

// What the model was shown before the restart need not be read again, and what was allowed is not asked about again.
async function checkGoesOn({ sessionId, name, from, to }) {
  const editor = await connect(withFiles);
  await editor.load(sessionId, opt.cwd);
  await ended("after a restart", editor.prompt(sessionId, script(edit(name, from, to), "say Done.")));
  const edited = editor.conversation(sessionId).calls().at(-1);
  check(`after a restart ${name} is edited without a read`, edited.status === "completed" && (await onDisk(name)).includes(to), edited);
  check(`after a restart nobody is asked about ${name}`, editor.questions.length === 0, editor.questions);
  await editor.close();
}

// Nobody can be asked: a call is refused after the time limit, and the turn goes on. The editor that sends the prompt asks nobody, or
// others have asked and are gone.
async function checkNobody() {
  const { editor, sessionId, c } = await start({ "nobody.txt": "one\n" }, { capabilities: { _meta: { strata: {} } } });
  const others = [await connect(), await connect()];
  for (const other of others) await other.load(sessionId, opt.cwd);
  const reply = editor.prompt(sessionId, script(read("nobody.txt"), edit("nobody.txt", "one", "1"), edit("nobody.txt", "one", "1"), "say Done."));
  for (const other of others) await other.asks();
  others[0].open[0].answer({ outcome: { outcome: "cancelled" } });
  others[0].answers = [{ outcome: { outcome: "cancelled" } }];
  await others[1].close();
  await ended("nobody is there", reply);
  const [, first, second] = c.calls();
  const refused = (x) => x.status === "failed" && textOf(x).includes("nobody was there");
  check("nobody is there: no change is made", refused(first) && refused(second) && (await onDisk("nobody.txt")) === "one\n", [first, second]);
  check("nobody is there: an editor that cannot ask is not asked", editor.questions.length === 0);
  check("nobody is there: an editor that has dismissed a question is asked the next one", others[0].questions.length === 2, others[0].questions);
  checkConversation("nobody is there", await loaded(sessionId), c.shown());
  for (const e of [editor, others[0]]) await e.close();
}

async function talk() {
  await checkAllowed();
  await checkRejected();
  await checkTwoWindows();
  await checkBack();
  await checkSwitched();
  await checkProtected();
  await checkSwapped();
  await checkTyped();
  await checkOtherTools();
  await checkCancel();
  await checkHabits();
  await checkUnsaved();
  await checkTakenBack();
  await checkGone();
  await checkGoneUnsaved();
  await checkHandedOver();
  await checkCancelSaving();
  await checkOnDisk();
  await keep({ shown, left: await leaveOpen(), goesOn });
}

async function load() {
  const { shown, left, goesOn } = await kept();
  await checkShown(shown);
  const diffs = Object.values(shown).flatMap((s) => s.entries.flatMap((e) => (e.call ? diffsOf(e.call) : [])));
  check("there are diffs to load", diffs.length > 40, diffs.length);
  await checkLeft(left);
  for (const edit of goesOn) await checkGoesOn(edit);
  await checkNobody();
}

await run("changes-check", { talk, load });
