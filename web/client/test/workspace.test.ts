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
  assert.deepEqual(third.files.map((f: any) => f.path), ['a.ts', 'b/c.ts']);
  assert.deepEqual(await list({ ...of, since: third.version }, options), { unchanged: true });
  files.write('a.ts', 'b');
  assert.notDeepEqual(await list({ ...of, since: third.version }, options), { unchanged: true });
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
  const count = async (handlers: object, params: object) => {
    server.heard.length = 0;
    const client = await server.connect({ handlers });
    await client.newSession({ cwd: '/project', ...params });
    await settled();
    await client.close();
    return [server.count('_strata/session/attach'), server.count('_strata/session/detach')];
  };
  const [files, held] = [serveWorkspace('/project', new TextFiles()), { _meta: { strata: { workspace: 'client' } } }];
  assert.deepEqual(await count(files, held), [1, 0]);
  assert.deepEqual(await count(files, {}), [0, 1]);
  assert.deepEqual(await count({}, held), [0, 1]);
});
