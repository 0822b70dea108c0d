import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerEvent } from '../src/index.js';
import { connected, cut, session } from './control.js';

async function until(events: AsyncIterator<ServerEvent>, wanted: (event: ServerEvent) => boolean): Promise<ServerEvent> {
  for (;;) {
    const { value, done } = await events.next();
    assert.ok(!done);
    if (wanted(value)) return value;
  }
}

test('server events are delivered, also after a lost connection', async () => {
  const client = await connected();
  const news = client.serverEvents();
  const first = await until(news, ({ type }) => type === 'counts');
  assert.ok(first.type === 'counts' && first.counts.connections >= 1);
  const s = await session(client);
  const created = await until(news, (event) => event.type === 'created' && event.sessionId === s.id);
  assert.ok(created.type === 'created' && created.session.cwd !== '');

  await cut();
  const again = await until(news, ({ type }) => type === 'resubscribed');
  assert.ok(again.type === 'resubscribed' && again.counts.connections >= 1);
  await client.call('_strata/session/rename', { sessionId: s.id, title: 'Renamed' });
  const renamed = await until(news, ({ type }) => type === 'renamed');
  assert.ok(renamed.type === 'renamed' && renamed.session.title === 'Renamed');
  await client.call('session/delete', { sessionId: s.id });
  await until(news, (event) => event.type === 'deleted' && event.sessionId === s.id);
  await news.return!();
  assert.equal((await news.next()).done, true);
});

test('server events end with their signal', async () => {
  const client = await connected();
  const signal = new AbortController();
  const news = client.serverEvents({ signal: signal.signal });
  await until(news, ({ type }) => type === 'counts');
  signal.abort();
  for await (const _ of news);
  assert.equal((await client.serverEvents({ signal: signal.signal }).next()).done, true);
});
