import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionRefused, LimitExceeded, RpcError, type Client, type SessionEvent } from '../src/index.js';
import { MAX_NEWS } from '../src/server-events.js';
import { MAX_UPDATES } from '../src/turn.js';
import { MAX_EVENT_CHARS, MAX_EVENTS } from '../src/watcher.js';
import { Failure, FakeServer, ready, settled, snapshot } from './fake.js';

// Behavior that a Strata server shows never or only in rare circumstances.

async function watched(): Promise<{ server: FakeServer; client: Client; events: AsyncIterableIterator<SessionEvent> }> {
  const server = new FakeServer();
  server.answers['_strata/session/attach'] = ({ epoch, after }) =>
    epoch === 'e' && after > 0
      ? { epoch: 'e', seq: after, running: null, complete: true }
      : { epoch: 'e', seq: 10, running: null, complete: false, snapshot: snapshot('so far') };
  const client = await server.connect();
  const events = client.session('s').watch();
  const { value } = await events.next();
  assert.equal(value.type, 'snapshot');
  return { server, client, events };
}

test('a subscription that the server ends to make room ends with an error', async () => {
  const { server, client, events } = await watched();
  server.notify('_strata/event', { sessionId: 's', epoch: 'e', type: 'unsubscribed' });
  await assert.rejects(events.next(), LimitExceeded);
  assert.deepEqual(server.problems, []);
  const again = client.session('s').watch();
  assert.equal((await again.next()).value.type, 'snapshot');
  await client.close();
});

test('invalid frames are reported and ignored', async () => {
  const server = new FakeServer();
  const client = await server.connect();
  const frames = ['', '{', 'null', '7', '"text"', '[]', '[{}]', '{"jsonrpc":"2.0","id":999,"result":{}}', '{"id":{},"error":null}', '{}'];
  for (const frame of frames) server.send(frame);
  assert.equal(server.problems.length, frames.length);
  server.problems.length = 0;
  server.send(new Uint8Array([1, 2, 3]));
  for (const params of [null, 7, [], {}, { sessionId: 's' }, { sessionId: '__proto__', update: null }, { type: 7 }]) {
    for (const method of ['session/update', '_strata/event', '_strata/server/event', 'unheard/of']) server.notify(method, params);
  }
  assert.deepEqual(server.problems, []);
  assert.deepEqual(await client.call('_strata/providers/list', {}), {});
  await client.close();
});

test('errors without a shape are errors', async () => {
  const server = new FakeServer();
  const client = await server.connect();
  server.answers['_strata/server/info'] = () => undefined;
  for (const [answer, code] of [
    [{ error: 7 }, -32603],
    [{ error: { code: 'x', message: null } }, -32603],
    [{ error: { code: -32010, message: 'busy' } }, -32010],
    [{}, -32603],
  ] as const) {
    const call = client.call('_strata/server/info', {});
    await settled();
    server.send({ jsonrpc: '2.0', id: server.heard.at(-1)!.id, ...answer });
    await assert.rejects(call, (error: unknown) => error instanceof RpcError && error.code === code);
  }
  await client.close();
});

test('an invalid response to initialize is refused', async () => {
  for (const answer of [null, 7, {}, { protocolVersion: 2 }, { protocolVersion: 1, agentCapabilities: {} }, new Failure(-32602, 'no')]) {
    const server = new FakeServer();
    server.answers['initialize'] = () => answer;
    await assert.rejects(server.connect(), ConnectionRefused);
  }
});

test('events and chunks received before are not delivered again', async () => {
  const { server, client, events } = await watched();
  server.text(11, 'a');
  server.text(11, 'a');
  server.text(9, 'old');
  server.text(13, 'bc', 12);
  server.event(14, 'saved', { turnId: 't' });
  const { values } = await ready(events);
  assert.deepEqual(values.map(({ type, seq }) => [type, seq]), [['update', 13], ['event', 14]]);
  assert.equal(server.count('_strata/session/attach'), 1);
  await client.close();
});

test('if events are missing, the client attaches again', async () => {
  const { server, client, events } = await watched();
  server.text(11, 'a');
  server.text(14, 'd'); // 12 and 13 are missing
  await settled();
  assert.deepEqual(server.heard.at(-1)!.params, { sessionId: 's', epoch: 'e', after: 11 });
  for (const [seq, text] of [[12, 'b'], [13, 'c'], [14, 'd']] as const) server.text(seq, text);
  const { values } = await ready(events);
  assert.equal(values.map((event) => (event.type === 'update' ? (event.update as any).content.text : event.type)).join(''), 'abcd');
  await client.close();
});

test('if an event covers seen and unseen events, a snapshot follows', async () => {
  const { server, client, events } = await watched();
  server.text(12, 'bc', 9);
  server.event(13, 'resynced', { first: 12 });
  const { values } = await ready(events);
  assert.ok(values.length >= 1 && values.every(({ type }) => type === 'snapshot'));
  await client.close();
});

test('updates without a number belong only to the snapshot before them', async () => {
  const { server, client, events } = await watched();
  const rest = (text: string) =>
    server.notify('session/update', {
      sessionId: 's',
      update: { sessionUpdate: 'agent_message_chunk', messageId: 'm', content: { type: 'text', text } },
      _meta: { strata: { epoch: 'e', replay: true } },
    });
  rest('the rest');
  server.text(11, 'more');
  rest('a replay');
  const { values } = await ready(events);
  assert.deepEqual(values.map((event) => event.type === 'update' && (event.update as any).content.text), ['the restmore']);
  await client.close();
});

test('a temporary failure of attach is retried, a permanent one is reported', async () => {
  const server = new FakeServer();
  let tries = 0;
  server.answers['_strata/session/attach'] = () => {
    tries++;
    if (tries === 1) return new Failure(-32010, 'too much waits');
    if (tries === 2) return { nothing: 'of use' };
    return new Failure(-32002, 'there is none');
  };
  const client = await server.connect();
  await assert.rejects(client.session('s').watch().next(), (error: unknown) => error instanceof RpcError && error.code === -32002);
  assert.equal(tries, 3);
  await client.close();
});

test('a slow watcher loses its events and gets a snapshot', async () => {
  for (const flood of [
    (server: FakeServer) => {
      for (let i = 0; i <= MAX_EVENTS; i++) server.event(11 + i, 'saved', { turnId: 't' });
    },
    (server: FakeServer) => {
      for (let i = 0; i < 3; i++) server.text(11 + i, 'x'.repeat(MAX_EVENT_CHARS / 2));
    },
  ]) {
    const { server, client, events } = await watched();
    flood(server);
    await settled();
    assert.equal(server.count('_strata/session/attach'), 1, 'a snapshot was fetched before it was needed');
    const { values } = await ready(events);
    assert.deepEqual(values.map(({ type }) => type), ['snapshot']);
    assert.equal(server.count('_strata/session/attach'), 2);
    server.text(11, 'on it goes');
    assert.equal((await ready(events)).values.length, 0); // consumed by the pending call
    await client.close();
  }
});

test('up to the limit, a slow watcher loses nothing', async () => {
  const { server, client, events } = await watched();
  for (let i = 0; i < MAX_EVENTS; i++) server.event(11 + i, 'saved', { turnId: 't' });
  const { values } = await ready(events);
  assert.equal(values.length, MAX_EVENTS);
  await client.close();
});

test('a slow consumer of server events gets a reset', async () => {
  const server = new FakeServer();
  server.answers['_strata/server/subscribe'] = () => ({ counts: {} });
  const client = await server.connect();
  const news = client.serverEvents();
  await settled();
  for (let i = 0; i < MAX_NEWS; i++) server.notify('_strata/server/event', { type: 'deleted', sessionId: `${i}` });
  const { values } = await ready(news);
  assert.deepEqual(values, [{ type: 'reset' }]);
  await client.close();
});

test('a turn with too many unread updates reports an error', async () => {
  const { server, client } = await watched();
  server.answers['session/prompt'] = () => undefined;
  const turn = client.session('s').prompt('x');
  await settled();
  const { id } = server.heard.find(({ method }) => method === 'session/prompt')!;
  server.event(11, 'turn_started', { turnId: 't', promptId: turn.promptId, messageId: 'm', userMessageId: 'u', model: 'x' });
  for (let i = 0; i <= MAX_UPDATES; i++) server.update(12 + i, { sessionUpdate: 'usage_update', used: i, size: 1, cost: {} });
  server.send({ jsonrpc: '2.0', id, result: { stopReason: 'end_turn' } });
  assert.equal((await turn.result).stopReason, 'end_turn');
  await assert.rejects(turn[Symbol.asyncIterator]().next(), /1024 updates/);
  await client.close();
});

test('a server that accepts and drops connections is retried with growing delays', async (t) => {
  t.mock.timers.enable({ apis: ['Date'] }); // no connection counts as stable, however slow the machine is
  const server = new FakeServer();
  const attempts: number[] = [];
  const client = await server.connect({ onState: (state) => state.kind === 'waiting' && attempts.push(state.attempt) });
  while (attempts.length < 5) {
    server.socket.lose();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assert.deepEqual(attempts.slice(0, 5), [1, 2, 3, 4, 5]);
  await client.close();
});
