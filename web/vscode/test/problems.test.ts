import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe, listOf } from '../src/mentions/describe.ts';

const problem = (message: string, more = {}) => ({ message, severity: 0, range: { start: { line: 2, character: 4 }, end: { line: 2, character: 5 } }, ...more }) as never;

test('a problem is one line with its place, its message and its origin', () => {
  assert.equal(describe('a.go', problem('not\n  defined', { source: 'go', code: { value: 'E1', target: null } })), 'a.go:3:5: error: not defined (go E1)');
  assert.equal(describe('a.go', problem('unused', { severity: 1, code: 0 })), 'a.go:3:5: warning: unused (0)');
});

test('a list of problems is bounded, and says how many are missing', () => {
  const lines = listOf([{ uri: {} as never, name: 'a.go', problems: Array.from({ length: 250 }, () => problem('x')) }]).trimEnd().split('\n');
  assert.equal(lines.length, 201);
  assert.equal(lines.at(-1), '(and 50 more)');
  const long = listOf([{ uri: {} as never, name: 'a.go', problems: Array.from({ length: 100 }, () => problem('x'.repeat(1e6))) }]);
  assert.ok(long.length < 51_000);
  assert.match(long, /\(and \d+ more\)/);
});
