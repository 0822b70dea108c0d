// What the scripts of checks with offline/actor share: their options, their report, and the language of the actor.
//   SCRIPT --sdk 1|2 --cwd DIR --state FILE --phase NAME (--url ws://HOST/acp --token T | -- COMMAND [ARG...])
// One line per check: ok / FAIL. Exit 1 on any FAIL.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Editor, loadSDK } from "./editor.mjs";

const argv = process.argv.slice(2);
const dashes = argv.indexOf("--");
const command = dashes < 0 ? null : argv.splice(dashes).slice(1);
export const opt = {};
for (let i = 0; i < argv.length; i += 2) opt[argv[i].replace(/^--/, "")] = argv[i + 1];
export const at = (name) => join(opt.cwd, name);

const counts = { ok: 0, FAIL: 0, skip: 0 };
export function check(name, passed, detail) {
  const status = passed ? "ok" : "FAIL";
  counts[status]++;
  if (typeof detail === "object") detail = JSON.stringify(detail);
  console.log(`${status.padEnd(4)} ${name}${detail && !passed ? "  -- " + detail.replaceAll("\n", "\\n").slice(0, 4000) : ""}`);
}

// What the SDK rejects shows up on console.error only.
const complaints = [];
console.error = (...parts) => complaints.push(parts.map((p) => (typeof p === "string" ? p : (p?.stack ?? JSON.stringify(p)))).join(" "));

export const sdk = await loadSDK(opt.sdk);
const editors = [];
export async function connect(options) {
  const editor = new Editor(sdk, command ? { command } : { url: opt.url, token: opt.token }, options);
  editors.push(editor);
  await editor.initialize();
  return editor;
}

export const call = (tool, input) => `call ${tool} ${typeof input === "string" ? input : JSON.stringify(input)}`;
export const step = (...lines) => lines.join("\n");
export const script = (...steps) => steps.join("\n---\n");
export const textOf = (c) => c.content?.map((part) => part.content?.text).join("");

// loaded returns what a new connection shows of a session.
export async function loaded(sessionId) {
  const editor = await connect();
  await editor.load(sessionId, opt.cwd);
  const shown = editor.conversation(sessionId).shown();
  await editor.close();
  return shown;
}

// checkConversation compares what a connection shows with what another one showed.
export function checkConversation(name, got, want) {
  const all = (c) => c.entries.length;
  const i = want.entries.findIndex((entry, n) => !isDeepStrictEqual(entry, got.entries[n]));
  check(`${name}: the same messages and calls in the same order`, i < 0 && all(got) === all(want), i < 0 ? [all(got), all(want)] : [i, got.entries[i], want.entries[i]]);
  check(`${name}: the same plan`, isDeepStrictEqual(got.plan, want.plan), [got.plan, want.plan]);
}

// keep stores a value for another phase, and kept returns it.
export const keep = (value) => writeFile(opt.state, JSON.stringify(value));
export const kept = async () => JSON.parse(await readFile(opt.state, "utf8"));

// checkShown compares what the server shows of sessions with what editors have shown before, by id.
export async function checkShown(shown) {
  for (const [sessionId, before] of Object.entries(shown)) checkConversation("load after a restart", await loaded(sessionId), before);
}

// run runs the phase that the options name, and exits.
export async function run(name, phases) {
  console.log(`# ${name} sdk=${opt.sdk} phase=${opt.phase} ${command ? "stdio" : opt.url}`);
  try {
    await phases[opt.phase]();
    const faults = editors.flatMap((e) => e.faults);
    check("every frame is as the schema says", faults.length === 0 && editors.every((e) => e.frames.length > 0), [faults.length, ...faults.slice(0, 5)]);
    check("the SDK rejected nothing", complaints.length === 0, complaints.slice(0, 3));
  } catch (e) {
    check("the checks ran to their end", false, e?.stack ?? JSON.stringify(e));
  }
  console.log(`# ${counts.ok} ok, ${counts.FAIL} FAIL, ${counts.skip} skip`);
  process.exit(counts.FAIL ? 1 : 0);
}
