import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { findServer, ServerNotFound } from '../src/node.js';
import { world } from './control.js';

const folders: string[] = [];
after(() => Promise.all(folders.map((folder) => fs.rm(folder, { recursive: true }))));

const TOKEN = 'T'.repeat(43);

/** A home folder with a `server.json` of this process and a lock file with its id. */
async function home(change: object = {}): Promise<{ env: Record<string, string>; file: string; lock: string }> {
  const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'strata-client-'));
  folders.push(dir);
  const file = path.join(dir, 'run', 'strata', 'server.json');
  const lock = path.join(dir, 'strata.db.lock');
  await fs.mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  await fs.writeFile(lock, `${process.pid}\n`, { mode: 0o600 });
  const content = { url: 'http://127.0.0.1:7717/', token: TOKEN, pid: process.pid, database: path.join(dir, 'strata.db'), ...change };
  await fs.writeFile(file, JSON.stringify(content), { mode: 0o600 });
  return { env: { XDG_RUNTIME_DIR: path.join(dir, 'run'), XDG_STATE_HOME: path.join(dir, 'state'), HOME: dir }, file, lock };
}

async function refused(env: Record<string, string>, why: RegExp): Promise<void> {
  await assert.rejects(findServer(env), (error: unknown) => {
    assert.ok(error instanceof ServerNotFound);
    assert.match(error.message, why);
    assert.ok(!error.message.includes(TOKEN), 'the token is in the error');
    return true;
  });
}

test('the running server is found', async () => {
  const { server } = await world();
  const found = await findServer();
  assert.deepEqual([found.url, found.token, found.pid], [server.url, server.token, server.pid]);
});

test('the state folder is searched, too', async () => {
  const { server } = await world();
  const { env } = await home();
  const state = path.join(env.XDG_STATE_HOME!, 'strata');
  await fs.mkdir(state, { recursive: true, mode: 0o700 });
  await fs.writeFile(path.join(state, 'server.json'), JSON.stringify(server), { mode: 0o600 });
  const without = { XDG_STATE_HOME: env.XDG_STATE_HOME! };
  assert.equal((await findServer(without)).pid, server.pid);
  assert.equal((await findServer({ ...without, XDG_RUNTIME_DIR: 'relative' })).pid, server.pid);
  assert.equal((await findServer(env)).pid, server.pid, 'the file in the runtime folder is stale');
});

test('missing or invalid files are refused', async () => {
  const { env, file } = await home();
  await fs.rm(file);
  await refused(env, /no running server.*server\.json/);
  for (const content of ['', '{', 'null', '[]', '7', '{}', 'x'.repeat(70_000)]) {
    await fs.writeFile(file, content, { mode: 0o600 });
    await refused(env, /server\.json/);
  }
  for (const [change, why] of [
    [{ url: 'file:///etc/passwd' }, /invalid url/],
    [{ url: 'http://user:pass@127.0.0.1/' }, /invalid url/],
    [{ url: 'http://127.0.0.1/?to=x' }, /invalid url/],
    [{ url: 7 }, /invalid url/],
    [{ token: 'short' }, /invalid token/],
    [{ token: `${TOKEN}\r\nX: y` }, /invalid token/],
    [{ pid: -1 }, /invalid pid/],
    [{ pid: 1.5 }, /invalid pid/],
    [{ database: 'relative.db' }, /not an absolute path/],
  ] as const) {
    await refused((await home(change)).env, why);
  }
});

test('a file accessible to other users is refused', { skip: process.platform === 'win32' }, async () => {
  for (const mode of [0o604, 0o640, 0o620]) {
    const { env, file } = await home();
    await fs.chmod(file, mode);
    await refused(env, /accessible to other users/);
  }
  const { env, file } = await home();
  await fs.chmod(path.dirname(file), 0o777);
  await refused(env, /accessible to other users/);
  await fs.chmod(path.dirname(file), 0o700);
  await fs.rm(file);
  await fs.mkdir(file);
  await refused(env, /not a regular file/);
});

test('a stale file is refused', async () => {
  const { env, lock } = await home(); // this process is alive, but holds no lock
  if (process.platform === 'linux') await refused(env, /stale/);
  await fs.writeFile(lock, '1\n');
  await refused(env, /stale/);
  await fs.rm(lock);
  await refused(env, /stale/);

  const child = spawn(process.execPath, ['--eval', '']);
  await new Promise((resolve) => child.on('exit', resolve));
  await refused((await home({ pid: child.pid })).env, /stale/);
});
