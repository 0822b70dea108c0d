import { spawn, type ChildProcess } from 'node:child_process';
import { promises as fs } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { delay } from './backoff.js';
import { abortReason, asError } from './errors.js';
import { findServer, type Environment, type FoundServer } from './find.js';

/** The time for a server to start, in milliseconds. Recovery and migration of a large database take time. */
const START_TIMEOUT = 30_000;

/** The time between looks at `server.json`, in milliseconds. */
const POLL = 50;

/** The maximum part of a server's output that an error contains, in bytes. */
const MAX_OUTPUT = 4 << 10;

/** The exit code of a server whose database another process has. */
const LOCKED = 3;

export interface StartOptions {
  /** The program, by default `strata` on the search path. */
  command?: string;
  /** Arguments after `serve`, by default `--exit-idle 10m`: the server ends 10 minutes after its last client. */
  args?: readonly string[];
  /** The environment in which the server is searched and started, by default that of this process. */
  env?: Environment;
  /** The time for the server to start, in milliseconds, by default 30,000. */
  timeout?: number;
  /** Aborting gives up; a server that was started continues to run. */
  signal?: AbortSignal;
}

/** The server could not be started. */
export class ServerNotStarted extends Error {
  override name = 'ServerNotStarted';

  constructor(
    message: string,
    /** `not_found`: there is no such program; `failed`: it ended, with its output in the message; `timeout`: it is not ready. */
    readonly reason: 'not_found' | 'failed' | 'timeout',
  ) {
    super(message);
  }
}

/**
 * Returns the running server of this user, and starts one if there is none. The server outlives this process. If several
 * clients start servers, the first one to lock the database stays. Rejects with `ServerNotStarted`.
 */
export async function startServer(options: StartOptions = {}): Promise<FoundServer> {
  const { env = process.env, timeout = START_TIMEOUT, signal } = options;
  let started: StartedServer | null = null;
  let losses = 0;
  let problem: Error | undefined;
  try {
    for (const end = Date.now() + timeout; Date.now() < end; ) {
      if (signal?.aborted) throw abortReason(signal);
      try {
        return await findServer(env);
      } catch (error) {
        problem = asError(error);
      }
      started ??= await StartedServer.start(options);
      if (await started.isLocked()) {
        await started.release();
        started = null;
        await pause(delay(++losses), signal);
      } else await pause(POLL, signal);
    }
    throw new ServerNotStarted(`the server did not start within ${timeout} ms: ${problem?.message}`, 'timeout');
  } finally {
    await started?.release();
  }
}

/** Waits, at most until the signal is aborted. */
async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(milliseconds, undefined, signal ? { signal } : {}).catch(() => {});
}

/** A server that is starting. */
class StartedServer {
  readonly #child: ChildProcess;
  readonly #folder: string;
  #error: Error | null = null;

  private constructor(child: ChildProcess, folder: string) {
    this.#child = child;
    this.#folder = folder;
    child.on('error', (error) => (this.#error = error));
    child.unref();
  }

  /** Its output goes to a file: a write to a pipe without a reader would end the server later. */
  static async start({ command = 'strata', args = ['--exit-idle', '10m'], env = process.env }: StartOptions): Promise<StartedServer> {
    const folder = await fs.mkdtemp(path.join(tmpdir(), 'strata-start-'));
    try {
      const output = await fs.open(path.join(folder, 'output'), 'w', 0o600);
      try {
        const options = { env, detached: true, windowsHide: true };
        return new StartedServer(spawn(command, ['serve', ...args], { ...options, stdio: ['ignore', output.fd, output.fd] }), folder);
      } finally {
        await output.close();
      }
    } catch (error) {
      await fs.rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /**
   * Returns whether the server has ended because another process has the database: that one is starting, or ending. Throws if
   * it has ended for another reason.
   */
  async isLocked(): Promise<boolean> {
    const { exitCode, signalCode, spawnfile } = this.#child;
    if (this.#error) {
      const isMissing = (this.#error as NodeJS.ErrnoException).code === 'ENOENT';
      const remedy = isMissing ? `${spawnfile} is not installed, or not on the search path` : this.#error.message;
      throw new ServerNotStarted(`the server cannot be started: ${remedy}`, isMissing ? 'not_found' : 'failed');
    }
    if (exitCode === LOCKED) return true;
    if (exitCode === null && signalCode === null) return false;
    throw new ServerNotStarted(`the server did not start: ${(await this.#output()) || `exit code ${exitCode ?? signalCode}`}`, 'failed');
  }

  /** Removes the file of the output. A running server continues to write to it; it has its log. */
  async release(): Promise<void> {
    await fs.rm(this.#folder, { recursive: true, force: true }).catch(() => {}); // Windows keeps open files
  }

  async #output(): Promise<string> {
    const text = await fs.readFile(path.join(this.#folder, 'output'), 'utf8').catch(() => '');
    return text.trim().slice(-MAX_OUTPUT).replace(/^strata: /, '');
  }
}
