import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RpcError, type Turn, type Update } from '../src/index.js';
import { asked, connected, cut, open, read, script, session, state, textOf } from './control.js';

async function all(turn: Turn | AsyncIterator<Update>): Promise<Update[]> {
  const iterator = Symbol.asyncIterator in turn ? turn[Symbol.asyncIterator]() : turn;
  const updates: Update[] = [];
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) updates.push(next.value);
  return updates;
}

test('a turn has updates, a result and a text', async () => {
  const client = await connected();
  const s = await session(client);
  await script({ thought: 'let me see' }, { text: 'It ' }, { text: 'works.' });
  const turn = s.prompt([{ type: 'text', text: 'Does it work?' }]);
  const updates = await all(turn);
  assert.equal(updates.map(textOf).join(''), 'It works.');
  assert.equal(await turn.text(), 'It works.');
  assert.ok(updates.some(({ sessionUpdate }) => sessionUpdate === 'agent_thought_chunk'));
  assert.ok(updates.some(({ sessionUpdate }) => sessionUpdate === 'usage_update'));
  const { stopReason, _meta } = await turn.result;
  assert.equal(stopReason, 'end_turn');
  assert.equal(_meta?.strata.usage.output, 5);
  assert.throws(() => turn[Symbol.asyncIterator](), /once/);
});

test('a slash command has an output and no turn', async () => {
  const client = await connected();
  const s = await session(client);
  const turn = s.prompt('/checkpoint here');
  const updates = await all(turn);
  assert.deepEqual(updates.map(textOf), ['Created the checkpoint “here”.']);
  assert.equal(await turn.text(), textOf(updates[0]!));
  assert.deepEqual(await turn.calls(), []);
  assert.deepEqual(await turn.result, { stopReason: 'end_turn', command: 'checkpoint' });
});

test('a slash command whose response was lost runs once and has its output once', async () => {
  const client = await connected();
  const s = await session(client);
  const other = s.prompt('/help');
  const turns = ['a', 'b', 'c'].map((name) => s.prompt(`/checkpoint ${name}`));
  await cut();
  for (const turn of turns) assert.equal((await all(turn)).length, 1);
  assert.match(await other.text(), /`\/help`/);
  const { checkpoints } = await client.call('_strata/checkpoint/list', { sessionId: s.id });
  assert.deepEqual(checkpoints.map(({ name }) => name).sort(), ['a', 'b', 'c']);
});

test('watch delivers the slash commands to who wants them', async () => {
  const client = await connected();
  const s = await session(client);
  for await (const event of s.watch({ commands: true })) {
    if (event.type !== 'commands') continue;
    assert.equal(event.commands[0]?.name, 'compact');
    break;
  }
});

test('a turn survives lost connections: nothing repeated, nothing missing, one request to the model', async () => {
  const client = await connected();
  const s = await session(client);
  await script({ text: '#, ', times: 100 }, { gate: 't1' }, { text: '#; ', times: 100 }, { gate: 't2' }, { text: 'end' });
  const before = await asked();
  const turn = s.prompt('Count');
  const updates = turn[Symbol.asyncIterator]();
  let text = await read(updates, '100, ');
  await cut();
  await open('t1');
  text += await read(updates, '100; ');
  await cut();
  await state(client, 'open');
  await cut();
  await open('t2');
  text += (await all(updates)).map(textOf).join('');
  const count = (mark: string) => Array.from({ length: 100 }, (_, i) => `${i + 1}${mark} `).join('');
  assert.equal(text, `${count(',')}${count(';')}end`);
  assert.equal(await turn.text(), text);
  assert.equal((await asked()) - before, 1);
});

test('a turn that ended without a connection is delivered', async () => {
  const client = await connected({ backoff: { first: 3_600_000, most: 3_600_000 } });
  const s = await session(client);
  await script({ text: 'before ' }, { gate: 'gone' }, { text: 'while away' });
  const turn = s.prompt('Go');
  const updates = turn[Symbol.asyncIterator]();
  let text = await read(updates, 'before ');
  await cut();
  await state(client, 'waiting');
  await open('gone');

  // Another client waits for the end and starts another turn, which is running when the first client reconnects.
  const other = await connected();
  await other.call('_strata/debug/quiesce', {});
  await script({ text: 'other' }, { gate: 'other' });
  const running = other.session(s.id).prompt('And now?');
  await read(running[Symbol.asyncIterator](), 'other');

  client.retryNow();
  text += (await all(updates)).map(textOf).join('');
  assert.equal(text, 'before while away');
  assert.equal((await turn.result).stopReason, 'end_turn');
  await open('other');
  await running.result;
});

test('a prompt with a known id returns the stored result and the same reply', async () => {
  const client = await connected();
  const s = await session(client);
  await script({ text: 'only once' });
  const first = s.prompt('Say it', { promptId: 'prompt-1' });
  const before = await first.result.then(() => asked());
  const again = s.prompt('Say it', { promptId: 'prompt-1' });
  assert.equal(again.promptId, 'prompt-1');
  assert.deepEqual((await again.result)._meta?.strata.messageId, (await first.result)._meta?.strata.messageId);
  assert.equal(await again.text(), 'only once');
  assert.equal(await asked(), before);
});

test('a prompt attaches data to its message', async () => {
  const client = await connected();
  const s = await session(client);
  await script({ text: 'noted' });
  await s.prompt('Note it', { meta: { tool: 'notes', mine: [1, null] } }).result;
  const { messages } = await client.call('_strata/history/list', { sessionId: s.id });
  assert.deepEqual(messages.map((m) => m.meta), [{ tool: 'notes', mine: [1, null] }, undefined]);
});

test('an aborted turn ends as cancelled and keeps the partial reply', async () => {
  const client = await connected();
  const s = await session(client);
  await script({ text: 'some of it' }, { gate: 'never' });
  const signal = new AbortController();
  const turn = s.prompt('All of it', { signal: signal.signal });
  const updates = turn[Symbol.asyncIterator]();
  await read(updates, 'some of it');
  signal.abort();
  assert.equal((await turn.result).stopReason, 'cancelled');
  await all(updates);
  assert.equal(await turn.text(), 'some of it');
  turn.cancel(); // has no effect any more
  await open('never');
});

test('a turn is cancelled before it is sent, and while there is no connection', async () => {
  const client = await connected({ backoff: { first: 3_600_000, most: 3_600_000 } });
  const s = await session(client);
  const before = await asked();
  assert.deepEqual(await s.prompt('No', { signal: AbortSignal.abort() }).result, { stopReason: 'cancelled' });

  await script({ text: 'runs' }, { gate: 'away' });
  const turn = s.prompt('Run');
  await read(turn[Symbol.asyncIterator](), 'runs');
  await cut();
  await state(client, 'waiting');
  const unsent = s.prompt('Never sent');
  unsent.cancel();
  assert.deepEqual(await unsent.result, { stopReason: 'cancelled' });
  turn.cancel();
  client.retryNow();
  assert.equal((await turn.result).stopReason, 'cancelled');
  assert.equal((await asked()) - before, 1);
  await open('away');
});

test('all promises of a failed turn reject with its error', async () => {
  const client = await connected();
  const s = await session(client);
  await script({ text: 'busy' }, { gate: 'one' });
  const running = s.prompt('One');
  const updates = running[Symbol.asyncIterator]();
  await read(updates, 'busy');
  const isBusy = (error: unknown) => error instanceof RpcError && error.code === -32010;
  const refused = client.session(s.id).prompt('Two');
  await assert.rejects(refused.result, isBusy);
  await assert.rejects(all(refused), isBusy);
  await assert.rejects(refused.text(), isBusy);
  await open('one');
  assert.equal((await running.result).stopReason, 'end_turn');
  assert.deepEqual((await all(updates)).map(textOf).join(''), '');
  await assert.rejects(client.session('sess_NONE').prompt('Hello').result, { code: -32002 });
});

test('a turn that is not iterated joins its updates', async () => {
  const client = await connected();
  const s = await session(client);
  await script({ text: '# ', times: 3000 });
  const turn = s.prompt('Count');
  await turn.result;
  const chunks = (await all(turn)).filter(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk');
  assert.equal(chunks.length, 1);
  assert.equal(textOf(chunks[0]!), await turn.text());
});
