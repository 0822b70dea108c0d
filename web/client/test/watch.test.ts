import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RpcError, type SessionEvent, type Turn } from '../src/index.js';
import {
  answersIn,
  assertInOrder,
  asked,
  connected,
  cut,
  isEvent,
  kill,
  open,
  restart,
  script,
  session,
  state,
  stop,
  textOf,
  until,
} from './control.js';

const isSnapshot = (event: SessionEvent) => event.type === 'snapshot';
const says = (text: string) => (event: SessionEvent) => event.type === 'update' && textOf(event.update).includes(text);

test('a watcher gets a snapshot and then all events', async () => {
  const client = await connected();
  const s = await session(client);
  await script({ text: 'earlier' });
  await s.prompt('First').result;
  const events = s.watch();
  const [first] = await until(events, isSnapshot);
  assert.ok(first?.type === 'snapshot' && first.snapshot.messages.length === 2 && first.running === null);
  await script({ thought: 'hm' }, { text: 'later' });
  await s.prompt('Second').result;
  const seen = [first, ...(await until(events, isEvent('turn_finished')))];
  assertInOrder(seen);
  assert.equal(answersIn(seen), 'earlierlater');
  const kinds: string[] = seen.map((event) => (event.type === 'event' ? event.event.type : event.type === 'update' ? event.update.sessionUpdate : event.type));
  for (const kind of ['turn_started', 'agent_thought_chunk', 'agent_message_chunk', 'usage_update', 'turn_finished']) {
    assert.ok(kinds.includes(kind), `${kind} is not among ${kinds}`);
  }
});

test('with repeated connection losses, a watcher misses nothing and gets nothing twice', async () => {
  const client = await connected();
  const s = await session(client);
  const events = s.watch();
  const seen = await until(events, isSnapshot);
  await script({ text: '#a ', times: 200 }, { gate: 'one' }, { text: '#b ', times: 200 }, { gate: 'two' }, { text: '#c ', times: 200 });
  const before = await asked();
  const turn = s.prompt('Count');
  for (const [gate, text] of [
    ['one', '200a'],
    ['two', '200b'],
  ] as const) {
    seen.push(...(await until(events, says(text))));
    await cut();
    await open(gate);
    await cut();
  }
  const { stopReason } = await turn.result;
  seen.push(...(await until(events, isEvent('turn_finished'))));
  assertInOrder(seen);
  const count = (letter: string) => Array.from({ length: 200 }, (_, i) => `${i + 1}${letter} `).join('');
  assert.equal(answersIn(seen), count('a') + count('b') + count('c'));
  assert.equal(seen.filter(isSnapshot).length, 1);
  assert.equal(stopReason, 'end_turn');
  assert.equal((await asked()) - before, 1);
});

const interrupted = (turn: Turn) =>
  assert.rejects(turn.result, (error: unknown) => error instanceof RpcError && error.code === -32012);
const cancelled = async (turn: Turn) => assert.equal((await turn.result).stopReason, 'cancelled');

for (const [how, end, ended] of [
  ['killed', kill, interrupted],
  ['stopped', stop, cancelled],
] as const) {
  test(`a server that was ${how} in mid-turn and started again continues the watch`, async () => {
    const client = await connected();
    const s = await session(client);
    const events = s.watch();
    const seen = await until(events, isSnapshot);
    await script({ text: 'half of it' }, { gate: how });
    const turn = s.prompt('Say it all');
    seen.push(...(await until(events, says('half of it'))));
    await end();
    await restart();
    await ended(turn);
    seen.push(...(await until(events, isSnapshot)));
    await script({ text: ' and the rest' });
    await s.prompt('Go on').result;
    seen.push(...(await until(events, isEvent('turn_finished'))));
    assert.match(answersIn(seen), /^(half of it)? and the rest$/); // a server that was killed may not have saved it
    await open(how);
  });
}

test('two clients see the same', async () => {
  const [one, two] = [await connected(), await connected()];
  const s = await session(one);
  const [events, others] = [s.watch(), two.session(s.id).watch()];
  const seen = [await until(events, isSnapshot), await until(others, isSnapshot)];
  await script({ text: 'same ', times: 50 }, { gate: 'both' }, { text: 'end' });
  const turn = two.session(s.id).prompt('Hello from the other');
  seen[0]!.push(...(await until(events, says('same'))));
  await open('both');
  await turn.result;
  seen[0]!.push(...(await until(events, isEvent('turn_finished'))));
  seen[1]!.push(...(await until(others, isEvent('turn_finished'))));
  assert.equal(answersIn(seen[0]!), 'same '.repeat(50) + 'end');
  assert.equal(answersIn(seen[1]!), answersIn(seen[0]!));
  assert.ok(seen[0]!.some((event) => event.type === 'update' && event.update.sessionUpdate === 'user_message_chunk'));
});

test('watchers of one client that start during a turn end with the same state', async () => {
  const client = await connected();
  const s = await session(client);
  const watches = [s.watch()];
  const seen = [await until(watches[0]!, isSnapshot)];
  await script({ text: 'a', times: 300 }, { gate: 'w1' }, { text: 'b', times: 300 }, { gate: 'w2' }, { text: 'c', times: 300 });
  const turn = s.prompt('Go');
  for (const gate of ['w1', 'w2']) {
    watches.push(s.watch());
    await open(gate);
  }
  assert.equal(await turn.text(), 'a'.repeat(300) + 'b'.repeat(300) + 'c'.repeat(300));
  for (const [i, events] of watches.entries()) {
    (seen[i] ??= []).push(...(await until(events, isEvent('turn_finished'))));
    assertInOrder(seen[i]!);
    assert.equal(answersIn(seen[i]!), await turn.text());
  }
});

test('a watch continues after a known position', async () => {
  const client = await connected();
  const s = await session(client);
  const first = s.watch();
  const seen = await until(first, isSnapshot);
  await script({ text: 'while watched' });
  await s.prompt('One').result;
  seen.push(...(await until(first, isEvent('turn_finished'))));
  await first.return!();
  await script({ text: ', while not' });
  await s.prompt('Two').result;
  const { epoch, seq } = seen.at(-1)!;
  seen.push(...(await until(s.watch({ after: { epoch, seq } }), isEvent('turn_finished'))));
  assertInOrder(seen);
  assert.equal(seen.filter(isSnapshot).length, 1);
  assert.equal(answersIn(seen), 'while watched, while not');
  const [again] = await until(s.watch({ after: { epoch: 'another', seq } }), () => true);
  assert.equal(again?.type, 'snapshot');
});

test('many sessions can be created, watched and released in sequence', async () => {
  const client = await connected();
  for (let i = 0; i < 70; i++) {
    const s = await session(client);
    if (i % 3 === 0) continue;
    const events = s.watch();
    if (i % 3 === 1) await until(events, isSnapshot);
    await events.return!();
  }
  const s = await session(client);
  const events = s.watch();
  await until(events, isSnapshot);
  await script({ text: 'still told' });
  await s.prompt('Hello').result;
  assert.equal(answersIn(await until(events, isEvent('turn_finished'))), 'still told');
});

test('a watch ends with its signal, with its session, and if there is no session', async () => {
  const client = await connected();
  const s = await session(client);
  const signal = new AbortController();
  const events = s.watch({ signal: signal.signal });
  await until(events, isSnapshot);
  signal.abort();
  assert.equal((await events.next()).done, true);
  assert.equal((await s.watch({ signal: signal.signal }).next()).done, true);

  const last = s.watch();
  await until(last, isSnapshot);
  await client.call('session/delete', { sessionId: s.id });
  const [closed] = await until(last, isEvent('closed'));
  assert.ok(closed?.type === 'event' && closed.event.type === 'closed' && closed.event.reason === 'deleted');
  assert.equal((await last.next()).done, true);
  await assert.rejects(s.watch().next(), (error: unknown) => error instanceof RpcError && error.code === -32002);
});

test('a watch that waits for a connection starts with it', async () => {
  const client = await connected({ backoff: { first: 3_600_000, most: 3_600_000 } });
  const s = await session(client);
  await cut();
  await state(client, 'waiting');
  const events = s.watch();
  client.retryNow();
  await until(events, isSnapshot);
});
