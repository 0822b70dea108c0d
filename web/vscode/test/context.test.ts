import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FileInfo, Tier } from '@strata/client';
import { absolute, contextOf, optionsOf } from '../src/context/rows.js';

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
