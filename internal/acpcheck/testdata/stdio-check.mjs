#!/usr/bin/env node
// ACP v1 conformance client over a child's stdin and stdout, driven by the real npm SDK, as an editor that starts a subprocess does it.
//   node stdio-check.mjs [--cwd /abs] [--prompt "..."] [--long "prompt that streams long enough to cancel"] [--timeout ms] -- COMMAND [ARG...]
// One line per check: ok / FAIL / skip. Exit 1 on any FAIL.
import { spawn } from "node:child_process";
import { PassThrough, Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const argv = process.argv.slice(2);
const dashes = argv.indexOf("--");
const command = dashes < 0 ? [] : argv.splice(dashes).slice(1);
const opt = { cwd: "/tmp", prompt: "Say hello in one short sentence.", long: "Count slowly from 1 to 400, one number per line.", timeout: "120000" };
for (let i = 0; i < argv.length; i += 2) opt[argv[i].replace(/^--/, "")] = argv[i + 1];
if (!command.length) {
  console.error("usage: stdio-check.mjs [--cwd DIR] -- COMMAND [ARG...]");
  process.exit(2);
}
const patience = Number(opt.timeout);

const counts = { ok: 0, FAIL: 0, skip: 0 };
function check(name, passed, detail) {
  const status = passed ? "ok" : "FAIL";
  counts[status]++;
  console.log(`${status.padEnd(4)} ${name}${detail ? "  -- " + detail : ""}`);
}
const describe = (e) => `${e?.code ?? ""} ${e?.message ?? e}`.trim();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// What the SDK rejects shows up on console.error only. The answers to hand-made frames are meant to be unknown to it.
const complaints = [];
console.error = (...parts) => {
  const text = parts.map((p) => (typeof p === "string" ? p : JSON.stringify(p))).join(" ");
  if (!/^Got response to unknown request (null|raw-\d+|fence)$/.test(text)) complaints.push(text);
};

function within(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("timeout: " + what)), patience);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function until(predicate, what) {
  for (const end = Date.now() + patience; Date.now() < end; await sleep(10)) {
    const found = predicate();
    if (found) return found;
  }
  throw new Error("timeout: " + what);
}

// An Agent is one child and the SDK's connection to it. Its lines are kept as they came, so that what the SDK hides is checked too.
class Agent {
  frames = [];
  updates = [];
  noise = []; // lines of stdout that are no JSON-RPC

  constructor() {
    this.child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
    this.child.on("error", () => {}); // shown by exited
    this.child.stdin.on("error", () => {});
    this.exited = new Promise((resolve) => {
      this.child.on("exit", (code, signal) => resolve(signal ?? code));
      this.child.on("error", resolve);
    });
    const tapped = new PassThrough();
    let rest = "";
    this.child.stdout.setEncoding("utf8").on("data", (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      lines.forEach((line) => this.#record(line));
      tapped.write(text);
    });
    this.child.stdout.on("end", () => {
      if (rest) this.noise.push(rest);
      tapped.end();
    });
    const stream = acp.ndJsonStream(Writable.toWeb(this.child.stdin), Readable.toWeb(tapped));
    const connection = acp
      .client({ name: "stdio-check" })
      .onNotification("session/update", ({ params }) => void this.updates.push(params))
      .onNotification("*", () => {})
      .connect(stream);
    this.request = (method, params) => within(connection.agent.request(method, params), method);
    this.notify = (method, params) => connection.agent.notify(method, params);
  }

  #record(line) {
    try {
      const frame = JSON.parse(line);
      if (frame.jsonrpc !== "2.0") throw new Error("not JSON-RPC 2.0");
      this.frames.push(frame);
    } catch {
      this.noise.push(line.slice(0, 80));
    }
  }

  // raw sends a line that the SDK cannot make and waits for the first frame behind it that matches.
  async raw(line, matches) {
    const from = this.frames.length;
    this.child.stdin.write(line + "\n");
    return until(() => this.frames.slice(from).find(matches), "answer to " + line);
  }

  text(kind) {
    return this.updates.filter((u) => u.update.sessionUpdate === kind && u.update.content?.type === "text").map((u) => u.update.content.text).join("");
  }

  async close() {
    this.child.stdin.end();
    return within(this.exited, "exit after the end of stdin");
  }
}

const initialize = (agent) =>
  agent.request("initialize", {
    protocolVersion: 1,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    clientInfo: { name: "stdio-check", title: "stdio check", version: "1.0.0" },
  });
const ask = (agent, sessionId, text) => agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });

// fence returns when the agent has answered a request that is sent now: what it had to say before has come by then.
const fence = (agent) => agent.raw('{"jsonrpc":"2.0","id":"fence","method":"_stdio-check.example/fence","params":{}}', (f) => f.id === "fence");

async function checkPrompt(agent, sessionId) {
  const reply = await ask(agent, sessionId, opt.prompt);
  check("session/prompt ends its turn", reply.stopReason === "end_turn", reply.stopReason);
  const said = agent.text("agent_message_chunk");
  check("the answer was streamed before the reply", said.length > 0, `${agent.updates.length} updates, ${said.length} chars`);
  check("every update carries the session", agent.updates.every((u) => u.sessionId === sessionId));
  return said;
}

async function checkCancel(agent, sessionId) {
  agent.updates.length = 0;
  const reply = ask(agent, sessionId, opt.long);
  await until(() => agent.text("agent_message_chunk"), "first chunk");
  await agent.notify("session/cancel", { sessionId });
  const { stopReason } = await reply;
  check("session/cancel in mid-stream ends the turn as cancelled", stopReason === "cancelled", stopReason);
  const seen = agent.updates.length;
  await fence(agent);
  check("no updates after the cancelled reply", agent.updates.length === seen, `${agent.updates.length - seen} late`);
  const next = await ask(agent, sessionId, opt.prompt);
  check("the next prompt works", next.stopReason === "end_turn", next.stopReason);
}

async function checkFrames(agent) {
  let answer = await agent.raw("{nope", (f) => f.error);
  check("a line that is not JSON -> -32700 with id null", answer.error.code === -32700 && answer.id === null, describe(answer.error));
  answer = await agent.raw("[]", (f) => f.error);
  check("a batch -> -32600 with id null", answer.error.code === -32600 && answer.id === null, describe(answer.error));
  answer = await agent.raw('{"jsonrpc":"2.0","id":"raw-1","method":"session/no_such_method","params":{}}\r', (f) => f.id === "raw-1");
  check("an unknown method -> -32601, CRLF is bearable", answer.error?.code === -32601, describe(answer.error ?? "accepted"));
  answer = await agent.raw('\n{"jsonrpc":"2.0","id":"raw-2","method":"session/list","params":{}}', (f) => f.id === "raw-2");
  check("empty lines are bearable", Array.isArray(answer.result?.sessions), describe(answer.error ?? ""));
}

async function checkLoad(agent, sessionId, said) {
  agent.updates.length = 0;
  await agent.request("session/load", { sessionId, cwd: opt.cwd, mcpServers: [] });
  check("session/load in another process replays the user's message", agent.text("user_message_chunk").includes(opt.prompt));
  check("session/load in another process replays the answer", agent.text("agent_message_chunk").includes(said), `${agent.updates.length} updates`);
  const first = agent.updates.find((u) => /message_chunk$/.test(u.update.sessionUpdate));
  check("the replay starts with the user", first?.update.sessionUpdate === "user_message_chunk");
  const reply = await ask(agent, sessionId, opt.prompt);
  check("session/prompt after session/load", reply.stopReason === "end_turn", reply.stopReason);
}

async function checkEnd(agent, which) {
  const code = await agent.close();
  check(`the ${which} process ends with its stdin`, code === 0, `exit ${code}`);
  check(`the ${which} process wrote nothing but JSON-RPC`, agent.noise.length === 0, agent.noise.slice(0, 3).join(" | "));
}

async function main() {
  const agent = new Agent();
  try {
    const { protocolVersion, agentInfo } = await initialize(agent);
    check("initialize answers protocolVersion 1", protocolVersion === 1, agentInfo?.name);
    const { sessionId } = await agent.request("session/new", { cwd: opt.cwd, mcpServers: [] });
    check("session/new returns sessionId", typeof sessionId === "string" && sessionId !== "", sessionId);
    const said = await checkPrompt(agent, sessionId);
    await checkCancel(agent, sessionId);
    await checkFrames(agent);
    await checkEnd(agent, "first");

    const second = new Agent();
    try {
      await initialize(second);
      await checkLoad(second, sessionId, said);
      await checkEnd(second, "second");
    } finally {
      second.child.kill();
    }
  } finally {
    agent.child.kill();
  }
  check("the SDK rejected nothing", complaints.length === 0, complaints.slice(0, 3).join(" | "));
}

console.log(`# stdio-check command=${JSON.stringify(command)}`);
try {
  await main();
} catch (e) {
  check("the checks ran to their end", false, describe(e));
}
console.log(`# ${counts.ok} ok, ${counts.FAIL} FAIL, ${counts.skip} skip`);
process.exit(counts.FAIL ? 1 : 0);
