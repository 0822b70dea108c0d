import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageText } from '../src/reply.js';
import { Calls } from '../src/calls.js';
import { delay, FIRST_DELAY, MOST_DELAY } from '../src/backoff.js';
import type { TextBlock } from '../src/index.js';
import { Queue } from '../src/queue.js';
import { socketURL } from '../src/socket.js';

test('delays double, are randomized, and are limited', () => {
  for (let attempt = 1; attempt < 100; attempt++) {
    const [least, most] = [delay(attempt, {}, () => 1), delay(attempt, {}, () => 0)];
    assert.ok(least >= FIRST_DELAY && most <= MOST_DELAY && least < most, `try ${attempt}: ${least} to ${most}`);
    assert.ok(delay(attempt + 1, {}, () => 1) >= least);
  }
  assert.equal(delay(1, {}, () => 1), FIRST_DELAY);
  assert.equal(delay(50, {}, () => 0), MOST_DELAY);
  assert.equal(delay(3, { first: 8, most: 20 }, () => 0), 20);
});

test('server URLs are converted to WebSocket URLs', () => {
  for (const [server, want] of [
    ['http://127.0.0.1:7717', 'ws://127.0.0.1:7717/acp'],
    ['https://strata.example/', 'wss://strata.example/acp'],
    ['ws://[::1]:7717/acp', 'ws://[::1]:7717/acp'],
    ['wss://strata.example/under/acp?token=secret#x', 'wss://strata.example/under/acp'],
  ]) {
    assert.equal(socketURL(server!), want);
  }
});

test('a queue keeps order and reports its end and its return once', async () => {
  let left = 0;
  let empty = 0;
  const queue = new Queue<number>(
    () => left++,
    () => empty++,
  );
  for (let i = 0; i < 5000; i++) queue.push(i);
  for (let i = 0; i < 4000; i++) assert.equal((await queue.next()).value, i);
  queue.push(5000);
  assert.equal(queue.length, 1001);
  queue.end(new Error('the end'));
  queue.push(7);
  for (let i = 4000; i <= 5000; i++) assert.equal((await queue.next()).value, i);
  await assert.rejects(queue.next(), /the end/);
  assert.deepEqual(await queue.next(), { value: undefined, done: true });

  const waiting = new Queue<number>(
    () => left++,
    () => empty++,
  );
  const [first, second, third] = [waiting.next(), waiting.next(), waiting.next()];
  assert.equal(empty, 3);
  waiting.push(1);
  waiting.push(2);
  await waiting.return();
  assert.deepEqual([(await first).value, (await second).value, (await third).done], [1, 2, true]);
  assert.equal(left, 1);
});

/** A message received in chunks, with connections lost at random, is delivered whole. */
test('a message is delivered whole, whatever happens in between', () => {
  let seed = 7;
  const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  for (let round = 0; round < 500; round++) {
    const whole = Array.from({ length: random(60) }, () => String.fromCharCode(97 + random(26))).join('');
    let told = '';
    const answer = new MessageText('m', ({ content }) => (told += (content as TextBlock).text));
    let at = 0;
    for (let step = 0; step < 12; step++) {
      if (random(3) > 0) {
        const next = Math.min(whole.length, at + random(9));
        answer.chunk('agent_message_chunk', whole.slice(at, next));
        at = next;
        continue;
      }
      // A snapshot contains the start of the current text; the rest follows in chunks.
      const now = Math.min(whole.length, at + random(9));
      const shown = random(now + 1);
      answer.soFar('agent_message_chunk', whole.slice(0, shown));
      answer.chunk('agent_message_chunk', whole.slice(shown, now));
      at = now;
    }
    assert.equal(told, whole.slice(0, at));
    answer.stored([{ type: 'text', text: whole.slice(0, 5) }, { type: 'text', text: whole.slice(5) }]);
    assert.equal(told, whole);
  }
});

test('a stored call has the diffs of its updates, and the text that says what was done', () => {
  const calls = new Calls();
  const content = [{ type: 'text', text: 'Edited a.go.' }, { type: 'text', text: 'the diff, for the model' }] as TextBlock[];
  const diffs = [
    { path: '/w/a.go', hunks: [{ oldStart: 3, newStart: 4, old: 'a\n', new: 'b\n' }, { oldStart: 9, newStart: 10, new: 'c\n' }], cut: true },
    { path: '/w/empty', created: true, hunks: [] },
    { path: '/w/old', deleted: true, hunks: [{ oldStart: 1, newStart: 1, old: 'x\n' }] },
  ];
  const updated = {
    sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'completed',
    content: [
      { type: 'diff', path: '/w/a.go', oldText: 'a\n', newText: 'b\n', _meta: { strata: { oldLine: 3, newLine: 4, cut: true } } },
      { type: 'diff', path: '/w/a.go', oldText: '', newText: 'c\n', _meta: { strata: { oldLine: 9, newLine: 10, cut: true } } },
      { type: 'diff', path: '/w/empty', oldText: null, newText: '', _meta: { strata: { oldLine: 1, newLine: 1 } } },
      { type: 'diff', path: '/w/old', oldText: 'x\n', newText: '', _meta: { strata: { oldLine: 1, newLine: 1, deleted: true } } },
      { type: 'content', content: content[0] },
    ],
  };
  assert.deepEqual(calls.addStored({ type: 'tool_result', callId: 'c', content, call: { diffs } }, 'm'), updated);
  assert.equal(calls.add(updated as any), null);
});
