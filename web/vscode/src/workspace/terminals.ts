import { spawn, type ChildProcess } from 'node:child_process';
import * as vscode from 'vscode';
import { ErrorCode, RpcError, type ExitStatus, type TerminalHandlers } from '@strata/client';
import { commandEnvironment } from './environment.js';
import { Tail } from './tail.js';

/** The size of the output that is kept if the server names none, in bytes. */
const DEFAULT_LIMIT = 1 << 20;

/** The size of the output that a terminal shows, in bytes: the editor takes it faster than it draws it. */
const MAX_SHOWN = 16 << 20;

/** The time between the request to end and the end, in milliseconds. */
const KILL_DELAY = 2000;

/** The time for processes to end that a command has left in the background, in milliseconds. */
const REST_DELAY = 500;

/** The exit code of a shell for a command that does not exist. */
const NOT_FOUND = 127;

/** Runs the commands of the model, each in a terminal of the editor that shows its output. */
export class Terminals implements TerminalHandlers, vscode.Disposable {
  readonly #running = new Map<string, CommandTerminal>();
  #last = 0;

  readonly create: TerminalHandlers['create'] = ({ command, args = [], env = [], cwd, outputByteLimit }) => {
    const variables = { ...commandEnvironment(), ...Object.fromEntries(env.map(({ name, value }) => [name, value])) };
    const child = spawn(command, args, {
      ...(cwd ? { cwd } : {}), env: variables, stdio: ['ignore', 'pipe', 'pipe'], detached: process.platform !== 'win32', windowsHide: true,
    });
    const terminalId = `terminal-${++this.#last}`;
    this.#running.set(terminalId, new CommandTerminal(child, shown(command, args), Math.max(outputByteLimit ?? DEFAULT_LIMIT, 0)));
    return { terminalId };
  };

  readonly output: TerminalHandlers['output'] = ({ terminalId }) => this.#terminal(terminalId).output();

  readonly waitForExit: TerminalHandlers['waitForExit'] = ({ terminalId }) => this.#terminal(terminalId).exit;

  readonly kill: TerminalHandlers['kill'] = ({ terminalId }) => {
    this.#terminal(terminalId).end();
    return null;
  };

  readonly release: TerminalHandlers['release'] = ({ terminalId }) => {
    this.#terminal(terminalId).release();
    this.#running.delete(terminalId);
    return null;
  };

  /** Ends all commands, without delay, when the connection is lost: the server does not ask for their outputs on another one. */
  endAll(): void {
    for (const terminal of this.#running.values()) terminal.dispose();
    this.#running.clear();
  }

  dispose(): void {
    this.endAll();
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
  /** Resolves when the command has ended, with all processes that it left in its process group. */
  readonly exit: Promise<ExitStatus>;
  readonly #child: ChildProcess;
  readonly #output: Tail;
  readonly #written = new vscode.EventEmitter<string>();
  readonly #terminal: vscode.Terminal;
  readonly #line: string;
  /** Divides chunks between characters. */
  readonly #decoder = new TextDecoder();
  #status: ExitStatus | undefined;
  #timer: NodeJS.Timeout | undefined;
  #shown = 0;
  /** The terminal takes output: until then, it is kept only. */
  #isOpen = false;

  constructor(child: ChildProcess, line: string, limit: number) {
    this.#child = child;
    this.#output = new Tail(limit);
    this.#line = line;
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => this.#add(chunk));
    this.exit = new Promise((resolve) => {
      const ended = (status: ExitStatus): void => resolve((this.#status ??= status));
      child.on('error', ({ message }) => {
        this.#add(Buffer.from(`${message}\n`));
        ended({ exitCode: NOT_FOUND });
      });
      child.on('exit', () => this.#endRest());
      child.on('close', (exitCode, signal) => ended({ exitCode, signal }));
    });
    this.#terminal = vscode.window.createTerminal({
      name: `Strata: ${line.slice(0, 40)}`,
      iconPath: new vscode.ThemeIcon('sparkle'),
      pty: { onDidWrite: this.#written.event, open: () => this.#opened(), close: () => this.end() },
    });
  }

  output(): { output: string; truncated: boolean; exitStatus?: ExitStatus } {
    return { output: this.#output.text(), truncated: this.#output.isTruncated, ...(this.#status ? { exitStatus: this.#status } : {}) };
  }

  /** Asks the command and all processes that it has started to end, and ends them after a delay. */
  end(): void {
    if (this.#status || this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#signal('SIGTERM');
    this.#endAfter(KILL_DELAY);
  }

  /** Ends the command, and closes the terminal unless the user looks at it. */
  release(): void {
    this.end();
    if (vscode.window.activeTerminal !== this.#terminal) this.#terminal.dispose();
  }

  dispose(): void {
    if (!this.#status || this.#timer) this.#signal('SIGKILL');
    clearTimeout(this.#timer);
    this.#terminal.dispose();
  }

  /** Ends the processes that the command has left in the background. Those that have left its group keep the output open only. */
  #endRest(): void {
    this.#signal('SIGTERM');
    this.#endAfter(REST_DELAY);
  }

  #endAfter(delay: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#signal('SIGKILL');
      if (this.#child.exitCode === null && this.#child.signalCode === null) return;
      this.#child.stdout?.destroy();
      this.#child.stderr?.destroy();
    }, delay);
  }

  /** Sends a signal to the process group of the command. On Windows, it ends the tree of processes of a running one. */
  #signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    if (process.platform === 'win32') {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) return; // its id can be that of another process now
      spawn('taskkill', ['/pid', String(pid), '/T', '/F'], { windowsHide: true, stdio: 'ignore' }).on('error', () => this.#child.kill());
      return;
    }
    try {
      process.kill(-pid, signal);
    } catch {
      // all have ended
    }
  }

  #add(chunk: Buffer): void {
    this.#output.add(chunk);
    if (this.#isOpen) this.#show(this.#decoder.decode(chunk, { stream: true }));
  }

  #opened(): void {
    this.#isOpen = true;
    this.#show(`$ ${this.#line}\n${this.#output.text()}`);
  }

  #show(text: string): void {
    if (this.#shown > MAX_SHOWN) return;
    this.#shown += text.length;
    const more = this.#shown > MAX_SHOWN ? `\n${vscode.l10n.t('The rest of the output is too long to be shown.')}\n` : '';
    this.#written.fire((text + more).replace(/\r?\n/g, '\r\n'));
  }
}
