import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeOf, linesOf } from '../src/workspace/lines.ts';

test('lines have their line ends', () => {
  const text = 'a\r\nb\n\nd';
  assert.equal(linesOf(text), text);
  assert.equal(linesOf(text, 2), 'b\n\nd');
  assert.equal(linesOf(text, 1, 2), 'a\r\nb\n');
  assert.equal(linesOf(text, 4, 9), 'd');
  assert.equal(linesOf(text, 5), '');
});

const applied = (before: string, after: string): string => {
  const change = changeOf(before, after);
  return change ? before.slice(0, change.start) + change.text + before.slice(change.end) : before;
};

test('a change makes the one text of the other', () => {
  for (const before of ['', 'a', 'aa', 'aba', 'one\ntwo\n', '\u{1f600}', '\u{1f601}x', 'x\u{1f600}\u{1f600}']) {
    for (const after of ['', 'a', 'aaa', 'ab', 'one\n2\n', '\u{1f601}', 'x\u{1f600}']) assert.equal(applied(before, after), after);
  }
});

test('a change contains only what differs', () => assert.deepEqual(changeOf('one\ntwo\nthree\n', 'one\n2\nthree\n'), { start: 4, end: 7, text: '2' }));

test('a character is not divided', () => assert.deepEqual(changeOf('\u{1f600}', '\u{1f601}'), { start: 0, end: 2, text: '\u{1f601}' }));

test('a text keeps its line ends', () => {
  assert.equal(applied('a\r\nb\r\n', 'a\nb\nc\n'), 'a\r\nb\r\nc\r\n');
  assert.equal(applied('a\nb\n', 'a\r\nc\r\n'), 'a\nc\n');
  assert.equal(changeOf('a\r\nb\r\n', 'a\nb\n'), null);
});
