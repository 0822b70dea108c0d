import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client, FileInfo, Tier } from '@strata/client';
import { ContextCommands } from '../src/context/commands.js';
import { filesBelow } from '../src/context/folder.js';
import { absolute, contextOf, optionsOf } from '../src/context/rows.js';
import { editor } from './desktop/vscode.ts';

const file = (path: string, tokens: number, more: Partial<FileInfo> = {}): FileInfo => ({ path, state: 'full', tokens, hash: '', ...more });

const tier = (name: string, ...items: { key: string; tokens: number; dead?: number; leaves?: boolean }[]): Tier =>
  ({ tier: name, tokens: 0, cached: 0, threshold: 0, items: items.map((item) => ({ kind: 'file', n: 0, nextThreshold: 0, hash: '', ...item })) }) as Tier;

test('files are sorted by size, and have the tiers of their items', () => {
  const context = contextOf(
    [file('b.go', 10), file('a.go', 10), file('large.go', 900), file('tool.go', 0, { read: true })],
    { tiers: [tier('L1', { key: 'file:large.go', tokens: 900 }), tier('active', { key: 'file:a.go', tokens: 14, dead: 4 }, { key: 'msg:1', tokens: 5 })] },
  );
  assert.deepEqual(context.files.map(({ path, tier, unused }) => [path, tier, unused]), [['large.go', 'L1', 0], ['a.go', 'active', 4], ['b.go', '', 0]]);
  assert.deepEqual(context.read.map(({ path }) => path), ['tool.go']);
  assert.equal(context.tokens, 920);
  assert.deepEqual(context.removed, []);
});

test('removed files that requests still contain are listed apart', () => {
  const { removed, tokens } = contextOf([file('a.go', 10)], { tiers: [tier('L2', { key: 'file:gone.go', tokens: 70, leaves: true }, { key: 'file:moved.go', tokens: 9 })] });
  assert.deepEqual(removed, [{ path: 'gone.go', tokens: 70, tier: 'L2' }]);
  assert.equal(tokens, 10);
});

test('a file that is added again is as it was', () => {
  assert.deepEqual(optionsOf(file('a.go', 1, { state: 'partial', range: { start: 2, end: 5 }, once: true, lineNumbers: true, pinned: true })), { path: 'a.go', range: { start: 2, end: 5 }, once: true, pinned: true, lineNumbers: true });
  assert.deepEqual(optionsOf(file('a.go', 1, { state: 'summary_only', reason: 'asked for' })), { path: 'a.go', state: 'summary' });
  assert.deepEqual(optionsOf(file('a.go', 1, { state: 'summary_only', reason: 'over_budget' })), { path: 'a.go' });
  assert.deepEqual(optionsOf(file('a.go', 1, { state: 'partial', reason: 'cut_to_fit', range: { start: 1, end: 9 } })), { path: 'a.go' });
});

test('paths are absolute, or below the folder of the session', () => {
  assert.equal(absolute('/home/me/', 'src/a.go'), '/home/me/src/a.go');
  assert.equal(absolute('/home/me', '/other/a.go'), '/other/a.go');
  assert.equal(absolute('C:\\me', 'D:/other/a.go'), 'D:/other/a.go');
});

const folders = (session: { cwd: string; _meta?: unknown }, paths: string[], asked: string[] = []): Client =>
  ({
    call: async (method: string, params: { query: string }) => {
      if (method === '_strata/session/info') return { session };
      asked.push(params.query);
      return { paths: paths.map((path) => ({ path })) };
    },
  }) as unknown as Client;

test('the files of a folder are found by the path that the user opened, also if it leads through a link', async () => {
  const asked: string[] = [];
  const session = { cwd: '/link/app', _meta: { strata: { folder: '/real/app' } } };
  assert.deepEqual(await filesBelow(folders(session, ['src/a.go', 'srcs/b.go'], asked), 's', '/link/app/src'), ['/link/app/src/a.go']);
  assert.deepEqual(await filesBelow(folders(session, ['src/a.go'], asked), 's', '/real/app/src'), ['/real/app/src/a.go']);
  assert.deepEqual(asked, ['src/', 'src/']);
});

test('files that were removed before a failure are named, and their removal can be undone', async () => {
  const calls: string[] = [];
  const client = {
    call: async (method: string, { path }: { path: string }) => {
      calls.push(`${method} ${path}`);
      if (path === 'b.go' && method.endsWith('remove')) throw new Error('b.go is busy');
    },
  };
  const commands = new ContextCommands({ connection: { required: () => client }, current: { id: 's' }, files: {}, createSession: async () => {}, selection: () => [] } as never);
  editor.messages.length = 0;
  editor.answers.push(null, 'Undo'); // the first message is the failure
  await commands.table.removeFromContext(undefined, ['a.go', 'b.go', 'c.go'].map((path) => ({ file: file(path, 1) })) as never);
  assert.deepEqual(editor.messages, ['Strata: b.go is busy', 'a.go removed from the context.']);
  assert.deepEqual(calls, ['_strata/files/remove a.go', '_strata/files/remove b.go', '_strata/files/add a.go']);
});

test('a removal is undone by the client of then, as the connection may have been replaced', async () => {
  const calls: string[] = [];
  const client = (name: string) => ({
    call: async (method: string) => {
      calls.push(`${name} ${method}`);
      now = client('second');
    },
  });
  let now = client('first');
  const commands = new ContextCommands({ connection: { required: () => now }, current: { id: 's' }, files: {}, createSession: async () => {}, selection: () => [] } as never);
  editor.answers.push('Undo');
  await commands.table.removeFromContext({ file: file('a.go', 1) } as never);
  assert.deepEqual(calls, ['first _strata/files/remove', 'second _strata/files/add']);
});
