import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, RpcError, serveWorkspace, TextFiles, type Client, type SessionHandle } from '../src/index.js';
import { connected, cut, restart, stop } from './control.js';
import { FakeServer, settled } from './fake.js';

const options = { signal: new AbortController().signal };
const of = { sessionId: 's', folder: '/project', limit: 2 };

test('a list has pages, and is not sent again unchanged', async () => {
  const files = new TextFiles({ 'a.ts': 'a', 'b/c.ts': 'ä', 'd.ts': '' });
  const { list } = serveWorkspace('/project', files).workspace;
  const first: any = await list(of, options);
  assert.deepEqual(first.files.map((f: any) => [f.path, f.size]), [['a.ts', 1], ['b/c.ts', 2]]);
  files.delete('d.ts'); // the pages are those of one list
  const second: any = await list({ ...of, cursor: first.nextCursor }, options);
  assert.deepEqual([second.files[0].path, second.version, second.nextCursor], ['d.ts', first.version, undefined]);
  const third: any = await list({ ...of, since: first.version }, options);
  assert.deepEqual(third, { changes: true, files: [], removed: ['d.ts'], version: third.version });
  assert.deepEqual(await list({ ...of, since: third.version }, options), { unchanged: true });
  files.write('a.ts', 'b');
  const fourth: any = await list({ ...of, since: third.version }, options);
  assert.deepEqual([fourth.changes, fourth.files.map((f: any) => f.path), fourth.removed], [true, ['a.ts'], []]);
  const whole: any = await list({ ...of, since: first.version }, options); // of a version before the last one
  assert.deepEqual([whole.changes, whole.files.map((f: any) => f.path)], [undefined, ['a.ts', 'b/c.ts']]);
});

test('more changes than a page has are a whole list', async () => {
  const files = new TextFiles({ a: '', b: '', c: '' });
  const { list } = serveWorkspace('/project', files).workspace;
  const { version }: any = await list(of, options);
  for (const path of ['a', 'b', 'c']) files.write(path, 'new');
  const next: any = await list({ ...of, since: version }, options);
  assert.deepEqual([next.changes, next.files.length, typeof next.nextCursor], [undefined, 2, 'string']);
});

test('files are read together, within bounds', async () => {
  const files = new TextFiles({ a: 'one', b: 'two!', c: 'three', d: 'four' });
  const read = serveWorkspace('/project', files).workspace.read!;
  const bounds = { sessionId: 's', folder: '/project', maxFileBytes: 4, maxBytes: 7 };
  const { files: got } = await read({ ...bounds, paths: ['a', 'c', 'x', '../a', 'b', 'd'] }, options);
  assert.deepEqual(got.map(({ path, content, error }) => [path, content ?? error?.code]),
    [['a', 'one'], ['c', ErrorCode.refusedPath], ['x', ErrorCode.notFound], ['../a', ErrorCode.invalidParams], ['b', 'two!']]);
  assert.equal(got[0]!.version, files.version('a'));
  assert.deepEqual((await read({ ...bounds, paths: ['b'], maxBytes: 1 }, options)).files.length, 1);
  assert.deepEqual((await read({ ...bounds, paths: ['a'], encoding: 'base64' }, options)).files[0]!.data, 'b25l');
});

test('requests for another folder are refused', async () => {
  const { list, read } = serveWorkspace('/project/', new TextFiles({ a: 'a' })).workspace;
  const other = (error: unknown) => error instanceof RpcError && error.code === ErrorCode.invalidParams;
  await assert.rejects(async () => list({ ...of, folder: '/projects' }, options), other);
  await assert.rejects(async () => read!({ sessionId: 's', folder: '/', paths: ['a'], maxFileBytes: 9, maxBytes: 9 }, options), other);
  assert.equal((await list(of, options) as any).files.length, 1);
});

test('versions of a file are not used again by the files of a later page', () => {
  const versions = [1, 2].map(() => new TextFiles({ 'a.ts': 'a' }).list()[0]!.version);
  assert.notEqual(versions[0], versions[1]);
});

test('a list of files without versions is never unchanged', async () => {
  const files = new TextFiles();
  files.list = () => [{ path: 'a' }];
  const { list } = serveWorkspace('/project', files).workspace;
  const first: any = await list(of, options);
  assert.equal((await list({ ...of, since: first.version }, options) as any).files.length, 1);
});

test('files are read and changed by their absolute paths', async () => {
  const changed: string[] = [];
  const files = new TextFiles({ 'a.ts': 'one\ntwo\nthree\n' });
  files.onChange = (path) => changed.push(path);
  const { readTextFile, writeTextFile, workspace } = serveWorkspace('/project', files);
  assert.deepEqual(await readTextFile({ sessionId: 's', path: '/project/a.ts', line: 2, limit: 1 }, options), { content: 'two\n' });
  await writeTextFile({ sessionId: 's', path: '/project/b.ts', content: 'new' }, options);
  await workspace.move({ sessionId: 's', path: '/project/b.ts', newPath: '/project/c/b.ts' }, options);
  await workspace.delete({ sessionId: 's', path: '/project/a.ts' }, options);
  assert.deepEqual([files.read('c/b.ts'), files.read('b.ts'), files.read('a.ts')], ['new', undefined, undefined]);
  assert.deepEqual(changed, ['b.ts', 'b.ts', 'c/b.ts', 'a.ts']);
});

test('paths that are not in the workspace are refused', async () => {
  const { readTextFile, writeTextFile, workspace } = serveWorkspace('/project', new TextFiles({ a: 'a', b: 'b' }));
  const code = (expected: number) => (error: unknown) => error instanceof RpcError && error.code === expected;
  for (const path of ['/project', '/project/', '/projects/a', '/project/../a', '/project//a', 'a']) {
    await assert.rejects(async () => writeTextFile({ sessionId: 's', path, content: '' }, options), code(ErrorCode.invalidParams));
  }
  await assert.rejects(async () => readTextFile({ sessionId: 's', path: '/project/c' }, options), code(ErrorCode.notFound));
  await assert.rejects(async () => workspace.delete({ sessionId: 's', path: '/project/c' }, options), code(ErrorCode.notFound));
  await assert.rejects(async () => workspace.move({ sessionId: 's', path: '/project/a', newPath: '/project/b' }, options), code(ErrorCode.invalidParams));
  await assert.rejects(async () => workspace.list({ ...of, cursor: '9:2' }, options), code(ErrorCode.invalidParams));
});

/** A client with files, and a session on them that it does not watch. */
async function holding(files: TextFiles): Promise<{ client: Client; s: SessionHandle }> {
  const client = await connected({ handlers: serveWorkspace('/project', files) });
  const s = await client.newSession({ cwd: '/project', _meta: { strata: { workspace: 'client' } } });
  return { client, s };
}

test('another client can use the files of a session as long as its creator is connected', async () => {
  const { client, s } = await holding(new TextFiles({ 'a.ts': 'a', 'b.ts': 'b', 'c.ts': 'c' }));
  const other = await connected();
  const add = (path: string) => other.call('_strata/files/add', { sessionId: s.id, path });
  /** Resolves when both clients have returned, and the server has attached the one with the files again. */
  const returned = async () => {
    await Promise.all([client, other].map(reopened));
    await client.call('_strata/session/info', { sessionId: s.id });
  };
  assert.equal((await add('a.ts')).state, 'full');
  let back = returned();
  await cut();
  await back;
  assert.equal((await add('b.ts')).state, 'full');
  back = returned();
  await stop();
  await restart();
  await back;
  assert.equal((await add('c.ts')).state, 'full');
});

/** Resolves when a client has lost its connection and has another. */
function reopened(client: Client): Promise<void> {
  return new Promise((resolve) => {
    let isLost = false;
    const forget = client.onState(({ kind }) => {
      if (kind !== 'open') isLost = true;
      else if (isLost) {
        forget();
        resolve();
      }
    });
  });
}

test('a call of the model waits for the files of a client that returns', async () => {
  const { client, s } = await holding(new TextFiles({ 'a.ts': 'the text' }));
  await client.call('session/set_config_option', { sessionId: s.id, configId: 'model', value: 'offline/actor' });
  const turn = s.prompt('say Wait.\ncall read_file {"path": "a.ts"}\n---\nsay Done.');
  for await (const update of turn) if (update.sessionUpdate === 'agent_message_chunk') break;
  await cut();
  assert.match(JSON.stringify(await turn.calls()), /the text/);
});

test('only sessions with files of this client stay subscribed', async () => {
  const server = new FakeServer();
  server.answers['session/new'] = () => ({ sessionId: 's' });
  const create = async (handlers: object, strata?: object) => {
    server.heard.length = 0;
    const client = await server.connect({ handlers });
    await client.newSession({ cwd: '/project', ...(strata ? { _meta: { strata } } : {}) });
    await settled();
    await client.close();
    const created = server.heard.find(({ method }) => method === 'session/new')!.params._meta?.strata;
    return [created, server.count('_strata/session/attach'), server.count('_strata/session/detach')];
  };
  const [files, held] = [new TextFiles(), { workspace: 'client' }];
  assert.deepEqual(await create(serveWorkspace('/project', files), held), [held, 1, 0]);
  assert.deepEqual(await create(serveWorkspace('/project', files, { id: 'mine' }), held), [{ ...held, workspaceId: 'mine' }, 1, 0]);
  assert.deepEqual(await create(serveWorkspace('/project', files)), [undefined, 0, 1]);
  assert.deepEqual(await create({}, held), [held, 0, 1]);
});

test('a list says that it lacks files', async () => {
  const files = Object.assign(new TextFiles({ a: 'a', b: 'b' }), { isIncomplete: true });
  const { list } = serveWorkspace('/project', files).workspace;
  const first: any = await list({ ...of, limit: 1 }, options);
  assert.equal(first.incomplete, true);
  files.write('a', 'c');
  const changed: any = await list({ ...of, since: first.version }, options);
  assert.deepEqual([changed.changes, changed.incomplete], [true, true]);
});

test('requests that are served when the client is closed are not responded to, and are no problem', async () => {
  const server = new FakeServer();
  let done: (() => void) | undefined;
  let isAborted = false;
  const client = await server.connect({
    handlers: { readTextFile: (_, { signal }) => new Promise((resolve) => {
      signal.addEventListener('abort', () => (isAborted = true));
      done = () => resolve({ content: 'a' });
    }) },
  });
  const { socket } = server;
  server.send({ jsonrpc: '2.0', id: 1, method: 'fs/read_text_file', params: { sessionId: 's', path: '/a' } });
  await settled();
  socket.send = () => {
    throw new Error('the WebSocket is not open');
  };
  const closed = client.close();
  assert.ok(isAborted);
  server.send({ jsonrpc: '2.0', id: 2, method: 'fs/read_text_file', params: { sessionId: 's', path: '/a' } });
  done!();
  await closed;
  assert.deepEqual(server.problems, []);
});

test('a file is not deleted or moved after the server has given up', async () => {
  const files = new TextFiles({ a: 'a' });
  const slow = { list: () => files.list(), read: (path: string) => new Promise<string | undefined>((resolve) => setImmediate(() => resolve(files.read(path)))),
    write: (path: string, text: string) => files.write(path, text), delete: (path: string) => files.delete(path), move: (from: string, to: string) => files.move(from, to) };
  const workspace = serveWorkspace('/project', slow).workspace;
  for (const change of [
    (signal: AbortSignal) => workspace.delete({ sessionId: 's', path: '/project/a' }, { signal }),
    (signal: AbortSignal) => workspace.move({ sessionId: 's', path: '/project/a', newPath: '/project/b' }, { signal }),
  ]) {
    const abort = new AbortController();
    const changed = change(abort.signal);
    abort.abort();
    await assert.rejects(async () => changed, { name: 'AbortError' });
    assert.deepEqual(files.list().map(({ path }) => path), ['a']);
  }
});
