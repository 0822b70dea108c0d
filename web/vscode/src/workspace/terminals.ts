import { spawn, type ChildProcess } from 'node:child_process';
import * as vscode from 'vscode';
import { ErrorCode, RpcError, type ExitStatus, type TerminalHandlers } from '@strata/client';

/** The size of the output that is kept if the server names none, in bytes. */
const DEFAULT_LIMIT = 1 << 20;

/** Runs the commands of the model, each in a terminal of the editor that shows its output. */
export class Terminals implements TerminalHandlers, vscode.Disposable {
  readonly #running = new Map<string, CommandTerminal>();
  #last = 0;

  readonly create: TerminalHandlers['create'] = ({ command, args = [], env = [], cwd, outputByteLimit }) => {
    const variables = { ...process.env, ...Object.fromEntries(env.map(({ name, value }) => [name, value])) };
    const child = spawn(command, args, {
      ...(cwd ? { cwd } : {}), env: variables, stdio: ['ignore', 'pipe', 'pipe'], detached: process.platform !== 'win32', windowsHide: true,
    });
    const terminalId = `terminal-${++this.#last}`;
    this.#running.set(terminalId, new CommandTerminal(child, shown(command, args), outputByteLimit ?? DEFAULT_LIMIT));
    return { terminalId };
  };

  readonly output: TerminalHandlers['output'] = ({ terminalId }) => this.#terminal(terminalId).output();

  readonly waitForExit: TerminalHandlers['waitForExit'] = ({ terminalId }) => this.#terminal(terminalId).exit;

  readonly kill: TerminalHandlers['kill'] = ({ terminalId }) => this.#terminal(terminalId).kill();

  readonly release: TerminalHandlers['release'] = ({ terminalId }) => {
    this.#terminal(terminalId).release();
    this.#running.delete(terminalId);
    return null;
  };

  /** Ends all commands. */
  dispose(): void {
    for (const terminal of this.#running.values()) terminal.release();
    this.#running.clear();
  }

  #terminal(id: string): CommandTerminal {
    const terminal = this.#running.get(id);
    if (!terminal) throw new RpcError(ErrorCode.notFound, `terminal ${id} does not exist`, { kind: 'terminal', id });
    return terminal;
  }
}

/** Returns the line that a shell runs, or the command with its arguments. */
export function shown(command: string, args: readonly string[]): string {
  const last = args.at(-1);
  const isShell = /(^|[\\/])(sh|bash|cmd\.exe)$/i.test(command);
  return isShell && last !== undefined ? last : [command, ...args].join(' ');
}

/** A command and the terminal that shows its output. Closing the terminal ends the command. */
class CommandTerminal {
  readonly exit: Promise<ExitStatus>;
  readonly #child: ChildProcess;
  readonly #limit: number;
  readonly #written = new vscode.EventEmitter<string>();
  readonly #terminal: vscode.Terminal;
  #output = Buffer.alloc(0);
  #truncated = false;
  #status: ExitStatus | undefined;
  readonly #line: string;
  /** Divides chunks between characters. */
  readonly #decoder = new TextDecoder();
  /** The terminal takes output: until then, it is kept only. */
  #isOpen = false;

  constructor(child: ChildProcess, line: string, limit: number) {
    this.#child = child;
    this.#limit = limit;
    this.#line = line;
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => this.#add(chunk));
    this.exit = new Promise((resolve) => {
      child.on('error', ({ message }) => {
        this.#add(Buffer.from(`${message}\n`));
        resolve((this.#status ??= { exitCode: 127 }));
      });
      child.on('close', (exitCode, signal) => resolve((this.#status ??= { exitCode, signal })));
    });
    this.#terminal = vscode.window.createTerminal({
      name: `Strata: ${line.slice(0, 40)}`,
      iconPath: new vscode.ThemeIcon('sparkle'),
      pty: { onDidWrite: this.#written.event, open: () => this.#opened(), close: () => void this.kill() },
    });
  }

  output(): { output: string; truncated: boolean; exitStatus?: ExitStatus } {
    let start = 0;
    while (start < this.#output.length && (this.#output[start]! & 0xc0) === 0x80) start++; // within a character
    return { output: this.#output.toString('utf8', start), truncated: this.#truncated, ...(this.#status ? { exitStatus: this.#status } : {}) };
  }

  /** Ends the command with all processes that it has started. */
  kill(): null {
    const { pid } = this.#child;
    if (pid === undefined || this.#status) return null;
    if (process.platform === 'win32') spawn('taskkill', ['/pid', String(pid), '/T', '/F'], { windowsHide: true });
    else {
      try {
        process.kill(-pid, 'SIGKILL');
      } catch {
        // ended meanwhile
      }
    }
    return null;
  }

  /** Ends the command, and closes the terminal unless the user looks at it. */
  release(): void {
    this.kill();
    if (vscode.window.activeTerminal !== this.#terminal) this.#terminal.dispose();
  }

  #add(chunk: Buffer): void {
    const all = Buffer.concat([this.#output, chunk]);
    this.#truncated ||= all.length > this.#limit;
    this.#output = all.subarray(-this.#limit);
    if (this.#isOpen) this.#show(this.#decoder.decode(chunk, { stream: true }));
  }

  #opened(): void {
    this.#isOpen = true;
    this.#show(`$ ${this.#line}\n${this.#decoder.decode(this.#output, { stream: true })}`);
  }

  #show(text: string): void {
    this.#written.fire(text.replace(/\r?\n/g, '\r\n'));
  }
}
