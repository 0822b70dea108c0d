import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed, changeOf, changesOf, linesOf } from '../src/workspace/lines.ts';

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

test('the changes of distant lines leave the lines between as they are', () => {
  for (const end of ['\n', '\r\n']) {
    const before = ['a', 'b', 'c', 'd', 'e', ''].join(end);
    const changes = changesOf(before, 'a\nB\nc\nd\ne\nf\n');
    assert.deepEqual(changes, [
      { start: before.indexOf('b'), end: before.indexOf('b') + 1, text: 'B' },
      { start: before.length, end: before.length, text: `f${end}` },
    ]);
  }
});

test('all changes together make the one text of the other', () => {
  const lines = ['', 'a', 'b', 'ab', '\u{1f600}', '\u{1f601}'];
  let seed = 1;
  const random = (below: number): number => (seed = (seed * 48271) % 2147483647) % below;
  const text = (end: string): string => Array.from({ length: random(8) }, () => lines[random(lines.length)]).join(end) + (random(2) ? end : '');
  for (let i = 0; i < 3000; i++) {
    const end = random(2) ? '\n' : '\r\n';
    const [before, after] = [text(end), text('\n')];
    const wanted = before.includes('\r\n') ? after.replaceAll('\n', '\r\n') : after;
    assert.equal(changed(before, changesOf(before, after)), wanted, JSON.stringify([before, after]));
  }
});
