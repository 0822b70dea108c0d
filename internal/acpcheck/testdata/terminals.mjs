// Terminals as an editor has them: each runs a command in a process group of its own, and keeps the end of its output.
import { spawn } from "node:child_process";

export class Terminals {
  all = new Map(); // by id, released ones too
  faults = []; // requests about a terminal that is not there, or not any more
  refusal = null; // an error instead of the next terminal

  create({ command, args = [], env = [], cwd, outputByteLimit }) {
    if (this.refusal) throw this.refusal;
    const id = `term-${this.all.size + 1}`;
    this.all.set(id, new Terminal(command, args, env, cwd, outputByteLimit ?? Infinity));
    return { terminalId: id };
  }

  #find({ terminalId }, request) {
    const terminal = this.all.get(terminalId);
    if (terminal && !terminal.released) return terminal;
    this.faults.push(`${request} ${terminalId}`);
    throw new Error(`no terminal ${terminalId}`);
  }

  output(params) {
    const { output, truncated, exitStatus } = this.#find(params, "output");
    return { output: output.toString("utf8"), truncated, exitStatus };
  }

  waitForExit(params) {
    return this.#find(params, "wait").exited;
  }

  kill(params) {
    const terminal = this.#find(params, "kill");
    terminal.killed++;
    terminal.end();
    return {};
  }

  release(params) {
    const terminal = this.#find(params, "release");
    terminal.released = true;
    terminal.end();
    return {};
  }

  // end ends all commands, as an editor does whose agent is gone.
  end() {
    for (const terminal of this.all.values()) terminal.end();
  }
}

class Terminal {
  output = Buffer.alloc(0);
  truncated = false;
  exitStatus = null;
  killed = 0; // how often
  released = false;

  constructor(command, args, env, cwd, limit) {
    const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    this.process = spawn(command, args, { cwd, env: { ...process.env, ...variables }, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.process.stdout, this.process.stderr]) stream.on("data", (data) => this.#add(data, limit));
    this.exited = new Promise((resolve) => {
      this.process.on("error", () => resolve((this.exitStatus = { exitCode: 127, signal: null })));
      this.process.on("close", (exitCode, signal) => resolve((this.exitStatus = { exitCode, signal })));
    });
  }

  // add keeps the newest bytes, from the start of a character.
  #add(data, limit) {
    this.output = Buffer.concat([this.output, data]);
    if (this.output.length <= limit) return;
    this.truncated = true;
    let start = this.output.length - limit;
    while ((this.output[start] & 0xc0) === 0x80) start++;
    this.output = this.output.subarray(start);
  }

  end() {
    if (this.exitStatus) return;
    try {
      process.kill(-this.process.pid, "SIGKILL");
    } catch {} // it has ended meanwhile
  }
}
