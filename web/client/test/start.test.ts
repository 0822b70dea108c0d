import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { connect } from '../src/index.js';
import { findServer, ServerNotStarted, startServer, type Environment, type FoundServer } from '../src/node.js';

const PROGRAM = process.env.STRATA_TEST_PROGRAM!;

const folders: string[] = [];
const pids = new Set<number>();

after(async () => {
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  for (const folder of folders) await fs.rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** The environment of a user without a server. */
async function user(config = 'listen: 127.0.0.1:0\nmodel: offline/digest\n'): Promise<Environment> {
  const home = await fs.mkdtemp(path.join(os.tmpdir(), 'strata-client-'));
  folders.push(home);
  await fs.mkdir(path.join(home, 'config', 'strata'), { recursive: true, mode: 0o700 });
  await fs.writeFile(path.join(home, 'config', 'strata', 'strata.yaml'), config, { mode: 0o600 });
  const run = path.join(home, 'run');
  await fs.mkdir(run, { mode: 0o700 });
  return {
    PATH: process.env.PATH, HOME: home, TMPDIR: home,
    XDG_CONFIG_HOME: path.join(home, 'config'), XDG_STATE_HOME: path.join(home, 'state'), XDG_DATA_HOME: path.join(home, 'data'), XDG_RUNTIME_DIR: run,
  };
}

function started(server: FoundServer): FoundServer {
  pids.add(server.pid);
  return server;
}

/** Stops a server and waits until its process has ended. */
async function stop({ pid }: FoundServer, env: Environment): Promise<void> {
  process.kill(pid, 'SIGTERM');
  while (await findServer(env).then(() => true, () => false)) await new Promise((resolve) => setTimeout(resolve, 5));
  pids.delete(pid);
}

test('a server is started if none is running, and found if one is', async () => {
  const env = await user();
  const server = started(await startServer({ command: PROGRAM, env }));
  const again = await startServer({ command: '/missing', env });
  assert.deepEqual(again, server);
  const client = await connect({ find: () => startServer({ command: PROGRAM, env }) });
  assert.equal(client.agent.agentInfo.name, 'strata');
  await client.close();
  await stop(server, env);
  const next = started(await startServer({ command: PROGRAM, env }));
  assert.notEqual(next.pid, server.pid);
  await stop(next, env);
});

test('clients that start servers at the same time get the same one', async () => {
  const env = await user();
  const servers = await Promise.all(Array.from({ length: 4 }, () => startServer({ command: PROGRAM, env })));
  for (const server of servers) started(server);
  assert.equal(new Set(servers.map(({ pid }) => pid)).size, 1);
  await stop(servers[0]!, env);
});

test('the program is found on the search path', async () => {
  const env = await user();
  const bin = path.join(env.HOME!, 'bin');
  await fs.mkdir(bin);
  await fs.symlink(PROGRAM, path.join(bin, 'strata'));
  const server = started(await startServer({ env: { ...env, PATH: bin } }));
  await stop(server, env);
});

test('the reason is reported if no server starts', async () => {
  const refused = (reason: string, why: RegExp) => (error: unknown) =>
    error instanceof ServerNotStarted && error.reason === reason && why.test(error.message);
  await assert.rejects(startServer({ command: 'no-such-program', env: await user() }), refused('not_found', /no-such-program is not installed/));
  await assert.rejects(startServer({ command: PROGRAM, env: await user('listen: [\n') }), refused('failed', /strata\.yaml/));
  await assert.rejects(startServer({ command: process.execPath, args: [], env: await user() }), refused('failed', /serve/));
  const env = await user();
  const sleeper = path.join(env.HOME!, 'sleeper');
  await fs.writeFile(sleeper, '#!/bin/sh\nexec sleep 5\n', { mode: 0o700 });
  await assert.rejects(startServer({ command: sleeper, env, timeout: 1 }), refused('timeout', /within 1 ms: no running server/));
});

test('starting can be given up', async () => {
  const reason = new Error('given up');
  await assert.rejects(startServer({ command: PROGRAM, env: await user(), signal: AbortSignal.abort(reason) }), (error) => error === reason);
});
