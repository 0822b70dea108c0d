// An editor as the checks need it: the real npm SDK over WebSocket or a child's stdin and stdout, with every frame kept in order,
// checked against the schema of the SDK, and folded into the conversation that the editor would show.
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { Readable, Writable } from "node:stream";
import WebSocket from "ws";
import { Terminals } from "./terminals.mjs";

const patience = 120_000; // ms until something that must come is considered missing

export async function loadSDK(generation) {
  const name = generation === "1" ? "sdk1" : "@agentclientprotocol/sdk";
  const schemas = generation === "1" ? "sdk1/dist/schema/zod.gen.js" : "@agentclientprotocol/sdk/dist/v1/schema/zod.gen.js";
  return {
    generation,
    acp: await import(name),
    ws: await import(name + "/experimental/ws-client"),
    schema: await import(new URL("./node_modules/" + schemas, import.meta.url)),
  };
}

// The schemas of the frames that the server sends, by method.
const paramsOf = {
  "session/update": "zSessionNotification", "session/request_permission": "zRequestPermissionRequest",
  "fs/read_text_file": "zReadTextFileRequest", "fs/write_text_file": "zWriteTextFileRequest",
  "terminal/create": "zCreateTerminalRequest", "terminal/output": "zTerminalOutputRequest", "terminal/wait_for_exit": "zWaitForTerminalExitRequest",
  "terminal/kill": "zKillTerminalRequest", "terminal/release": "zReleaseTerminalRequest",
};
const resultOf = {
  initialize: "zInitializeResponse", "session/new": "zNewSessionResponse", "session/load": "zLoadSessionResponse",
  "session/prompt": "zPromptResponse", "session/set_config_option": "zSetSessionConfigOptionResponse", "session/set_mode": "zSetSessionModeResponse",
};

// The functions of Terminals that serve requests.
const terminalRequests = {
  "terminal/create": "create", "terminal/output": "output", "terminal/wait_for_exit": "waitForExit", "terminal/kill": "kill", "terminal/release": "release",
};

// terminalMethods returns the functions of terminals as the older SDK names them.
function terminalMethods(terminals) {
  const names = { create: "createTerminal", output: "terminalOutput", waitForExit: "waitForTerminalExit", kill: "killTerminal", release: "releaseTerminal" };
  return Object.fromEntries(Object.entries(names).map(([serve, name]) => [name, async (params) => terminals[serve](params)]));
}

// Editor is one connection. Its files are texts by path, which it shows; it answers an unknown path from the disk.
export class Editor {
  frames = []; // as received: {method, id, params, result, error}
  faults = []; // frames that the schema does not allow
  conversations = new Map(); // by session
  files = new Map();
  tools = new Map(); // functions that run the tools of this client, by name
  terminals = new Terminals();
  questions = []; // of the server to the user: the parameters
  answers = []; // of the user to the next questions: ids of options, or results
  open = []; // questions without an answer: {id, answer, isCancelled}
  #held = new Map(); // resolvers of answers, by path
  #asked = new Map(); // methods of requests, by id
  #questionIds = []; // of questions that have arrived and are not yet shown
  #cancelledIds = new Set(); // of requests
  #waiters = new Set();

  // capabilities are added to those of the editor.
  constructor(sdk, target, { readsFiles = true, writesFiles = false, runsCommands = false, capabilities = {} } = {}) {
    this.sdk = sdk;
    this.capabilities = { fs: { readTextFile: readsFiles, writeTextFile: writesFiles }, terminal: runsCommands, ...capabilities };
    const { readable, writable } = target.url ? this.#socket(target) : this.#child(target);
    const into = new TransformStream({ transform: (frame, to) => (this.#record(frame), to.enqueue(frame)) });
    const out = new TransformStream({ transform: (frame, to) => (this.#note(frame), to.enqueue(frame)) });
    readable.pipeTo(into.writable).catch(() => {});
    out.readable.pipeTo(writable).catch(() => {});
    this.#connect({ readable: into.readable, writable: out.writable });
  }

  #socket({ url, token }) {
    const editor = this;
    class Socket extends WebSocket {
      constructor(address, protocols, options) {
        super(address, protocols?.length ? protocols : undefined, options);
        editor.close = () => new Promise((resolve) => (this.on("close", resolve), WebSocket.prototype.close.call(this)));
      }
    }
    return this.sdk.ws.createWebSocketStream(url, { WebSocket: Socket, headers: { Authorization: "Bearer " + token } });
  }

  #child({ command }) {
    const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
    child.stdin.on("error", () => {});
    const exited = new Promise((resolve) => child.on("exit", resolve).on("error", resolve));
    this.close = () => (child.stdin.end(), exited);
    return this.sdk.acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  }

  #connect(stream) {
    const read = (params) => this.#read(params);
    const write = async (params) => (await this.write(params), {});
    const runTool = (params) => this.tools.get(params.name)(params);
    if (this.sdk.generation === "1") {
      const client = { ...terminalMethods(this.terminals), sessionUpdate: () => {}, readTextFile: read, writeTextFile: write, requestPermission: (params) => this.#permit(params), extMethod: (_, params) => runTool(params) };
      const agent = new this.sdk.acp.ClientSideConnection(() => client, stream);
      const methods = { initialize: "initialize", "session/new": "newSession", "session/load": "loadSession", "session/prompt": "prompt", "session/set_config_option": "setSessionConfigOption", "session/set_mode": "setSessionMode" };
      this.send = (method, params) => (methods[method] ? agent[methods[method]](params) : agent.extMethod(method, params));
      this.cancel = (sessionId) => agent.cancel({ sessionId });
      return;
    }
    const app = this.sdk.acp.client({ name: "acp-check" }).onNotification("*", () => {});
    app.onRequest("session/request_permission", ({ params, signal }) => this.#permit(params, signal));
    for (const [method, serve] of Object.entries(terminalRequests)) app.onRequest(method, ({ params }) => this.terminals[serve](params));
    app.onRequest("fs/write_text_file", ({ params }) => write(params));
    app.onRequest("fs/read_text_file", ({ params }) => read(params)).onRequest("_strata/tool/call", (params) => params, ({ params }) => runTool(params));
    const { agent } = app.connect(stream);
    this.send = (method, params) => agent.request(method, params);
    this.cancel = (sessionId) => agent.notify("session/cancel", { sessionId });
  }

  // permit answers a question with the next of answers. Without one, the question is open until somebody answers or cancels it.
  #permit(params, signal) {
    const id = this.#questionIds.shift();
    this.questions.push(params);
    if (this.#cancelledIds.has(id)) return cancelled;
    if (this.answers.length) return selection(this.answers.shift());
    return new Promise((resolve) => {
      const question = { id, params, isCancelled: false, signal, answer: (a) => (drop(this.open, question), resolve(selection(a))) };
      this.open.push(question);
      this.#wake();
    });
  }

  #cancel(id) {
    this.#cancelledIds.add(id);
    const question = this.open.find((q) => q.id === id);
    if (!question) return;
    question.isCancelled = true;
    question.answer(cancelled);
  }

  // asks returns the open question, once there is one.
  asks(what = "a question") {
    return this.until(() => this.open[0], what);
  }

  // write saves a text as the server has sent it.
  async write({ path, content }) {
    await writeFile(path, content);
  }

  async #read({ path }) {
    if (this.#held.has(path)) await new Promise((resolve) => this.#held.set(path, resolve));
    const content = this.files.get(path) ?? (await readFile(path, "utf8"));
    if (content instanceof Error) throw content;
    return { content };
  }

  // hold makes the editor answer no request for a file until release.
  hold(...paths) {
    for (const path of paths) this.#held.set(path, () => {});
  }

  release(...paths) {
    for (const path of paths) {
      const go = this.#held.get(path);
      this.#held.delete(path);
      go?.();
    }
  }

  #note(frame) {
    if (frame.method && frame.id !== undefined) this.#asked.set(frame.id, frame.method);
  }

  #record(frame) {
    this.frames.push(structuredClone(frame));
    this.#validate(frame);
    if (frame.method === "session/update") this.conversation(frame.params.sessionId).add(frame.params);
    if (frame.method === "session/request_permission") this.#questionIds.push(frame.id);
    if (frame.method === "$/cancel_request") this.#cancel(frame.params.requestId);
    this.#wake();
  }

  #wake() {
    for (const check of this.#waiters) check();
  }

  // validate parses a frame by its schema. The SDK drops optional members that are wrong without a word, so all members must be in
  // the parsed frame.
  #validate(frame) {
    const fault = (what) => this.faults.push(`${what}: ${JSON.stringify(frame).slice(0, 300)}`);
    if (frame.jsonrpc !== "2.0") fault("no JSON-RPC 2.0");
    const method = frame.method ?? this.#asked.get(frame.id);
    const name = frame.method ? paramsOf[method] : frame.error ? "zError" : resultOf[method];
    if (!name) {
      if (frame.method && !["$/cancel_request", "_strata/tool/call"].includes(frame.method)) fault("not expected");
      return;
    }
    const value = structuredClone(frame.method ? frame.params : (frame.error ?? frame.result));
    if (method === "initialize") delete value.agentCapabilities?.sessionCapabilities?.fork; // not yet in the stable schema
    const parsed = this.sdk.schema[name].safeParse(value);
    if (!parsed.success) fault(`${name}: ${parsed.error.message.slice(0, 300)}`);
    else for (const path of dropped(value, parsed.data)) fault(`${name} drops ${path}`);
  }

  conversation(sessionId) {
    if (!this.conversations.has(sessionId)) this.conversations.set(sessionId, new Conversation());
    return this.conversations.get(sessionId);
  }

  // until returns what find returns, once that is true.
  until(find, what) {
    return this.within(new Promise((resolve) => {
      const check = () => {
        const found = find();
        if (found) this.#waiters.delete(check), resolve(found);
      };
      this.#waiters.add(check);
      check();
    }), what);
  }

  within(promise, what) {
    let timer;
    const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("timeout: " + what)), patience)));
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
  }

  request(method, params) {
    return this.within(this.send(method, params), method);
  }

  // initialize and the sessions as a stock editor does them.
  initialize() {
    return this.request("initialize", {
      protocolVersion: 1,
      clientCapabilities: this.capabilities,
      clientInfo: { name: "acp-check", title: "ACP check", version: "1.0.0" },
    });
  }

  async newSession(cwd, tools, mcpServers = []) {
    const declared = tools && { _meta: { strata: { tools } } };
    return (await this.request("session/new", { cwd, mcpServers, ...declared })).sessionId;
  }

  load(sessionId, cwd, mcpServers = []) {
    return this.request("session/load", { sessionId, cwd, mcpServers });
  }

  // choose selects a value of a session's option.
  choose(sessionId, configId, value) {
    return this.request("session/set_config_option", { sessionId, configId, value });
  }

  async prompt(sessionId, text) {
    const conversation = this.conversation(sessionId);
    const own = conversation.own(text);
    const response = await this.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    own.id = response._meta?.strata?.userMessageId;
    return response;
  }

  // fence returns when the server has answered a request that is sent now: its frames before that have come by then.
  fence() {
    return this.send("_acp-check.example/fence", {}).catch(() => {});
  }

  // about returns the methods of the requests and updates about a terminal, in their order.
  about(terminalId) {
    const created = this.frames.findIndex((f) => f.method === "terminal/create");
    const shown = (f) => [f.params?.update?.content ?? []].flat().some((part) => part.terminalId === terminalId);
    const of = this.frames.slice(created).filter((f) => f.params?.terminalId === terminalId || shown(f));
    return of.map((f) => (f.method === "session/update" ? f.params.update.status : f.method.replace("terminal/", "")));
  }

  // asked returns the requests for a file.
  asked(path) {
    return this.frames.filter((f) => f.method === "fs/read_text_file" && f.params.path === path);
  }
}

const cancelled = { outcome: { outcome: "cancelled" } };

// selection returns the result for an answer: the id of an option, or the result itself.
function selection(answer) {
  return typeof answer === "string" ? { outcome: { outcome: "selected", optionId: answer } } : answer;
}

function drop(list, item) {
  list.splice(list.indexOf(item), 1);
}

// dropped returns the paths of the values that another value does not have.
function dropped(value, other, path = "") {
  if (typeof value !== "object" || value === null) return value === other ? [] : [path];
  if (typeof other !== "object" || other === null || Array.isArray(value) !== Array.isArray(other)) return [path];
  return Object.keys(value).flatMap((name) => dropped(value[name], other[name], `${path}/${name}`));
}

// Conversation is what an editor shows of a session.
class Conversation {
  entries = []; // messages and calls, in order
  plan = null;
  changes = []; // of calls, texts and usage, in order: {call, status}, {text} or {usage}

  own(text) {
    const entry = { user: text };
    this.entries.push(entry);
    return entry;
  }

  add({ update }) {
    const { sessionUpdate: kind, ...fields } = update;
    switch (kind) {
      case "user_message_chunk":
        return this.#append("user", fields);
      case "agent_message_chunk":
        this.changes.push({ text: fields.content.text, message: fields.messageId });
        return this.#append("agent", fields);
      case "agent_thought_chunk":
        return this.#append("thought", fields);
      case "tool_call":
      case "tool_call_update":
        this.changes.push({ call: fields.toolCallId, announced: kind === "tool_call", status: fields.status });
        return this.#call(fields);
      case "plan":
        this.plan = fields.entries;
        return;
      case "usage_update":
        this.changes.push({ usage: fields.used });
    }
  }

  #append(role, { messageId, content }) {
    const last = this.entries.findLast((e) => e.id === messageId && role in e);
    if (last) last[role] += content.text;
    else this.entries.push({ id: messageId, [role]: content.text });
  }

  #call(fields) {
    let entry = this.entries.find((e) => e.call?.toolCallId === fields.toolCallId);
    if (!entry) this.entries.push((entry = { call: {} }));
    Object.assign(entry.call, fields);
  }

  calls() {
    return this.entries.filter((e) => e.call).map((e) => e.call);
  }

  // shown returns everything that an editor shows, to compare it.
  shown() {
    return normal({ entries: this.entries, plan: this.plan });
  }
}

// normal returns a value as JSON has it: without members that are undefined.
export const normal = (value) => (value === undefined ? null : JSON.parse(JSON.stringify(value)));
