import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LimitExceeded, type Client } from '../src/index.js';
import { DEFAULT_FRAME_BYTES } from '../src/limits.js';
import { connected, session } from './control.js';
import { FakeServer, settled } from './fake.js';

const exceeds = (limit: number) => (error: unknown) => error instanceof LimitExceeded && error.message.includes(`limit of ${limit} bytes`);

function limited(server: FakeServer, frameBytes: number): void {
  server.answers['initialize'] = () => ({
    protocolVersion: 1,
    agentCapabilities: { _meta: { strata: { version: '0', methods: [], notifications: [], limits: { frameBytes } } } },
  });
}

/** The length of text with which a request of a text is a frame of so many bytes. */
async function room(client: Client, server: FakeServer, frameBytes: number): Promise<number> {
  await client.call('_strata/history/search', { query: '' });
  return frameBytes - JSON.stringify(server.heard.at(-1)).length;
}

test('F30: a prompt above the limit is refused at once, and the connection serves other calls', async () => {
  const states: string[] = [];
  const client = await connected({ onState: ({ kind }) => states.push(kind) });
  const s = await session(client);
  const turn = s.prompt('x'.repeat(17 << 20));
  await assert.rejects(turn.result, exceeds(DEFAULT_FRAME_BYTES));
  await assert.rejects(turn.text(), LimitExceeded);
  await assert.rejects(client.call('_strata/history/search', { query: 'y'.repeat(17 << 20) }), exceeds(DEFAULT_FRAME_BYTES));
  assert.equal((await s.prompt('Hello').result).stopReason, 'end_turn');
  assert.deepEqual(states, ['connecting', 'open']);
});

test('F30: the limit is that of the server, in bytes', async () => {
  const server = new FakeServer();
  limited(server, 1000);
  const client = await server.connect();
  const most = await room(client, server, 1000);
  for (const [character, bytes] of [['x', 1], ['\u00e9', 2], ['\u20ac', 3], ['\u{1f600}', 4]] as const) {
    const fits = Math.floor(most / bytes) - 1; // the id has another digit in the end
    await client.call('_strata/history/search', { query: character.repeat(fits - 4) });
    const heard = server.heard.length;
    await assert.rejects(client.call('_strata/history/search', { query: character.repeat(fits + 2) }), exceeds(1000));
    await settled();
    assert.equal(server.heard.length, heard, 'something was sent');
  }
  await client.close();
});

test('F30: without a connection, too, a call above the limit fails at once', async () => {
  const server = new FakeServer();
  limited(server, 1000);
  const client = await server.connect({ backoff: { first: 3_600_000, most: 3_600_000 } });
  server.socket.lose();
  await settled();
  assert.equal(client.state.kind, 'waiting');
  await assert.rejects(client.call('_strata/history/search', { query: 'x'.repeat(1000) }), exceeds(1000));
  await assert.rejects(client.session('s').prompt('x'.repeat(1000)).result, exceeds(1000));
  await client.close();
});

test('F30: a waiting call above the limit of the next server fails, and those behind it are sent', async () => {
  const server = new FakeServer();
  const client = await server.connect({ backoff: { first: 3_600_000, most: 3_600_000 } });
  server.socket.lose();
  await settled();
  const large = client.call('_strata/history/search', { query: 'x'.repeat(2000) });
  const small = client.call('_strata/history/search', { query: 'x' });
  limited(server, 1000);
  client.retryNow();
  await assert.rejects(large, exceeds(1000));
  await small;
  await client.close();
});

test('F30: the largest request fails if a server closes for the size of a frame, the others are sent again', async () => {
  const server = new FakeServer();
  const client = await server.connect();
  server.answers['session/prompt'] = () => undefined;
  server.answers['_strata/session/info'] = () => ({ epoch: 'e', seq: 1 });
  server.answers['_strata/session/attach'] = () => ({ epoch: 'e', seq: 1, running: null, complete: true });
  const large = client.session('s').prompt('x'.repeat(5000));
  const small = client.session('t').prompt('x');
  await settled();
  assert.equal(server.count('session/prompt'), 2);
  server.answers['session/prompt'] = () => ({ stopReason: 'end_turn' });
  server.socket.onclose?.({ code: 1009, reason: 'too large' });
  await assert.rejects(large.result, (error: unknown) => error instanceof LimitExceeded && /refuses a frame of \d+ characters/.test(error.message));
  assert.equal((await small.result).stopReason, 'end_turn');
  assert.equal(server.count('session/prompt'), 3);
  await client.close();
});

test('parameters that are no JSON are refused', async () => {
  const server = new FakeServer();
  const client = await server.connect();
  const circular: { self?: object } = {};
  circular.self = circular;
  await assert.rejects(client.call('_strata/history/search', circular as any), TypeError);
  await client.close();
});
