import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, RpcError, serveWorkspace, TextFiles } from '../src/index.js';

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
