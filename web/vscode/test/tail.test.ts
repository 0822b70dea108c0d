import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tail } from '../src/workspace/tail.js';

test('an output of single characters is held in few chunks, with its newest bytes', () => {
  const tail = new Tail(3000);
  let most = 0;
  for (let i = 0; i < 10_000; i++) {
    tail.add(Buffer.from(String(i % 10)));
    most = Math.max(most, tail.chunks);
  }
  assert.ok(most <= 1025, String(most));
  assert.equal(tail.text(), '0123456789'.repeat(300));
  assert.equal(tail.isTruncated, true);
});

test('an output of which nothing is kept has no text', () => {
  const tail = new Tail(0);
  for (let i = 0; i < 3000; i++) tail.add(Buffer.from('é'));
  assert.equal(tail.text(), '');
});
