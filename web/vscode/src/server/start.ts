import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Endpoint } from '@strata/client';
import { findServer, ServerNotFound } from '@strata/client/node';
import { NotInstalled } from '../platform.js';
import { settings } from '../settings.js';

/** Time without connections after which a server that was started here exits. Other editors may use it meanwhile. */
const EXIT_IDLE = '10m';

/** Maximum characters of the output of a server that did not start. */
const MAX_OUTPUT = 4096;

/** The server that is starting, with the reason why that failed. */
let starting: { child: ChildProcess; failure?: Error } | undefined;

/**
 * Returns the running server of this user. If there is none, it starts one and throws: the client calls this function again
 * before each attempt. A server outlives this window.
 */
export async function findOrStart(): Promise<Endpoint> {
  try {
    const found = await findServer();
    release();
    return found;
  } catch (error) {
    if (!(error instanceof ServerNotFound) || !settings.start) throw error;
    throw started();
  }
}

/** Starts a server unless one is starting. Returns why there is none yet. */
function started(): Error {
  if (starting?.failure) {
    const { failure } = starting;
    starting = undefined;
    return failure;
  }
  starting ??= start();
  return new Error('the server is starting');
}

/** The output of the server is a file: a write to a pipe without a reader would end the server after this window. */
function start(): { child: ChildProcess; failure?: Error } {
  const program = settings.path;
  const folder = mkdtempSync(path.join(tmpdir(), 'strata-start-'));
  const log = path.join(folder, 'log');
  const output = openSync(log, 'w', 0o600);
  const child = spawn(program, ['serve', '--exit-idle', EXIT_IDLE], { detached: true, stdio: ['ignore', output, output], windowsHide: true });
  closeSync(output);
  const server: { child: ChildProcess; failure?: Error } = { child };
  child.on('error', (error: NodeJS.ErrnoException) => {
    server.failure = error.code === 'ENOENT' ? new NotInstalled(`${program} was not found`) : error;
    rmSync(folder, { recursive: true, force: true });
  });
  child.on('exit', (code) => {
    server.failure ??= new Error(`${program} serve ended with code ${code}: ${readFileSync(log, 'utf8').slice(-MAX_OUTPUT).trim()}`);
    rmSync(folder, { recursive: true, force: true });
  });
  child.unref();
  return server;
}

/** The server runs, and goes on without this process. */
function release(): void {
  starting = undefined;
}
