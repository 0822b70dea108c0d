import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionEvent } from '../src/index.js';
import { assertInOrder, connected, cut, isEvent, script, session, state, until } from './control.js';
import { FakeServer, ready, snapshot } from './fake.js';

/** The texts of the user's messages in updates. */
const prompts = (events: SessionEvent[]) =>
  events.flatMap((event) =>
    event.type === 'update' && event.update.sessionUpdate === 'user_message_chunk' && event.update.content.type === 'text' ? [event.update.content.text] : []);

const isSnapshot = (event: SessionEvent) => event.type === 'snapshot';
const isSaved = isEvent('turn_finished');

test('a watcher gets the messages of its own client if it asks for them', async () => {
  const client = await connected();
  const other = await connected();
  const s = await session(client);
  const [plain, own, others] = [s.watch(), s.watch({ own: true }), other.session(s.id).watch()];
  const seen = await Promise.all([plain, own, others].map((events) => until(events, isSnapshot)));
  await script({ text: 'one' });
  await s.prompt('First').result;
  for (const [i, events] of [plain, own, others].entries()) seen[i]!.push(...(await until(events, isSaved)));
  assert.deepEqual(seen.map(prompts), [[], ['First'], ['First']]);

  await client.call('_strata/history/append', { sessionId: s.id, messages: [{ role: 'user', content: 'Appended' }, { role: 'assistant', content: 'Yes' }] });
  const isLast = (event: SessionEvent) => event.type === 'update' && JSON.stringify(event.update).includes('Yes');
  seen[1]!.push(...(await until(own, isLast)));
  assert.deepEqual(prompts(seen[1]!), ['First', 'Appended']);
  for (const events of seen) assertInOrder(events);
});

test('a watcher that asks later, and after a lost connection, gets each of its messages once', async () => {
  const client = await connected();
  const s = await session(client);
  const plain = s.watch();
  await until(plain, isSnapshot);
  const own = s.watch({ own: true });
  const seen = await until(own, isSnapshot);
  for (const prompt of ['First', 'Second']) {
    await script({ text: 'reply' });
    await s.prompt(prompt).result;
    seen.push(...(await until(own, isSaved)));
    await cut();
    await state(client, 'open');
  }
  assert.deepEqual(prompts(seen), ['First', 'Second']);
  assertInOrder(seen);
  assert.equal(seen.filter(isSnapshot).length, 1);
});

test('own messages do not disturb watchers that do not want them', async () => {
  const server = new FakeServer();
  server.answers['_strata/session/attach'] = () => ({ epoch: 'e', seq: 1, running: null, complete: false, snapshot: snapshot() });
  const client = await server.connect();
  const s = client.session('s');
  const plain = s.watch();
  const { pending: nextPlain } = await ready(plain);
  const own = s.watch({ own: true });
  const { pending: nextOwn } = await ready(own);
  assert.deepEqual(server.heard.filter(({ method }) => method === '_strata/session/attach').map(({ params }) => params.own), [undefined, true]);
  const update = { sessionUpdate: 'user_message_chunk', messageId: 'u', content: { type: 'text', text: 'mine' } };
  server.notify('session/update', { sessionId: 's', update, _meta: { strata: { epoch: 'e', seq: 2, own: true } } });
  server.text(3, 'reply');
  const seqOf = async (result: Promise<IteratorResult<SessionEvent>> | null) => ((await result)!.value as SessionEvent).seq;
  assert.deepEqual([await seqOf(nextPlain), await seqOf(nextOwn), await seqOf(own.next())], [3, 2, 3]);
  assert.deepEqual(server.problems, []);
  await client.close();
});
