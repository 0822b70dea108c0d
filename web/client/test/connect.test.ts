import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import {
  ClientClosed,
  connect,
  ConnectionLost,
  ConnectionRefused,
  ErrorCode,
  RpcError,
  LimitExceeded,
  ServerUnreachable,
  VERSION,
  type ConnectionState,
} from '../src/index.js';
import { MAX_WAITING } from '../src/link.js';
import { NodeSocket } from '../src/node-socket.js';
import { accept, busy, connected, cut, open, refuse, session, state, world } from './control.js';

/** A socket authorized only by its subprotocols, like a browser's. */
class BrowserSocket extends NodeSocket {
  constructor(url: string, protocols?: string | string[]) {
    super(url, protocols);
  }
}

test('the server describes itself', async () => {
  const client = await connected();
  assert.equal(client.agent.agentInfo.name, 'strata');
  assert.ok(client.agent.agentInfo.version.startsWith(VERSION));
  assert.ok(client.agent.agentCapabilities._meta.strata.methods.includes('_strata/session/attach'));
  assert.deepEqual(client.state, { kind: 'open' });
});

test('the token is also accepted as a subprotocol', async () => {
  const client = await connected({ WebSocket: BrowserSocket });
  assert.ok((await client.call('_strata/server/info', {})).connections >= 1);
});

test('a wrong token is refused permanently', async () => {
  const token = 'A'.repeat(43);
  const refused = (error: unknown) => error instanceof ConnectionRefused && error.reason === 'token' && error.status === 401 && !error.message.includes(token);
  await assert.rejects(connected({ token }), refused);
  await assert.rejects(connected({ token, WebSocket: BrowserSocket }), refused);
});

test('the reason of a refusal is fetched if the socket does not report it', async () => {
  class SilentSocket extends BrowserSocket {
    constructor(url: string, protocols?: string | string[]) {
      super(url, protocols);
      let told: ((event: object) => void) | null = null;
      Object.defineProperty(this, 'onerror', { get: () => told && (() => told?.({})), set: (handler) => (told = handler) });
    }
  }
  await assert.rejects(connected({ token: 'A'.repeat(43), WebSocket: SilentSocket }), ConnectionRefused);
});

test('a page offers its secret, and the reason for refusing it is reported in the words of the server', async () => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers['strata-page']}`);
    response.writeHead(401).end('this page is not authorized\n');
  });
  server.on('upgrade', (request, socket) => {
    seen.push(String(request.headers['sec-websocket-protocol']));
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    await assert.rejects(connect({ url, page: 'abc', WebSocket: BrowserSocket }),
      (error: unknown) => error instanceof ConnectionRefused && error.status === 401 && error.message === 'this page is not authorized');
    await assert.rejects(connect({ find: () => ({ url, page: 'def' }), WebSocket: BrowserSocket }), ConnectionRefused);
  } finally {
    server.close();
  }
  assert.deepEqual(seen.map((s) => s.replace(/, ?/g, ' ')), ['acp page.abc', 'GET /page abc', 'acp page.def', 'GET /page def']);
});

/** The WebSocket of a page of another origin. Like a browser's, it does not tell why it did not open. */
class PageSocket extends NodeSocket {
  static failures = 0;

  constructor(url: string, protocols?: string | string[]) {
    if (PageSocket.failures-- > 0) url = 'ws://127.0.0.1:1';
    super(url, protocols, { Origin: globalThis.location.origin });
    let told: ((event: object) => void) | null = null;
    Object.defineProperty(this, 'onerror', { get: () => told && (() => told?.({})), set: (handler) => (told = handler) });
  }
}

/** Runs a test as a page of an origin. */
async function asPage(origin: string, run: () => Promise<void>): Promise<void> {
  Object.defineProperty(globalThis, 'location', { value: { origin }, configurable: true });
  try {
    await run();
  } finally {
    Reflect.deleteProperty(globalThis, 'location');
  }
}

test('F32: a page of an origin that is not allowed, or with a wrong token, learns that it is refused', async () => {
  const refused = (origin: string) => (error: unknown) =>
    error instanceof ConnectionRefused && error.reason === 'origin_or_token' && error.message.startsWith('refused: origin or token') &&
    error.message.includes(origin) && error.message.includes('`origins`');
  const waited = (now: ConnectionState) => assert.notEqual(now.kind, 'waiting');
  await asPage('https://elsewhere.example', () =>
    assert.rejects(connected({ WebSocket: PageSocket, onState: waited }), refused('https://elsewhere.example')));
  const wrong = { token: 'A'.repeat(43), WebSocket: PageSocket, onState: waited };
  await asPage('vscode-webview://page', () => assert.rejects(connected(wrong), refused('vscode-webview://page')));
  await asPage('vscode-webview://page', async () => void (await connected({ WebSocket: PageSocket })));
});

test('F32: a page waits for a server that does not run, and one that has just started is not one that refuses', async () => {
  await asPage('vscode-webview://page', async () => {
    await refuse();
    await cut(); // also the connections that fetch keeps
    let waits = 0;
    await connected({ WebSocket: PageSocket, onState: (now) => now.kind === 'waiting' && ++waits === 3 && void accept() });
    assert.ok(waits >= 3);
    PageSocket.failures = 1;
    await connected({ WebSocket: PageSocket, onState: (now) => assert.notEqual(now.kind, 'waiting') });
    await cut();
  });
});

/** A native WebSocket does not report the HTTP status. */
const isNative = 'WebSocket' in globalThis;

test('a server of another protocol is refused permanently', { skip: isNative }, async () => {
  const other = createServer((_, response) => response.writeHead(404, { 'Content-Type': 'text/plain' }).end('nothing here\n'));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  await assert.rejects(
    connected({ url: `http://127.0.0.1:${port}` }),
    (error: unknown) => error instanceof ConnectionRefused && error.reason === 'address' && error.status === 404 && /nothing here/.test(error.message),
  );
  await assert.rejects(connected({ url: 'ftp://127.0.0.1' }), ConnectionRefused);
  await assert.rejects(connected({ url: 'somewhere' }), ConnectionRefused);
  await assert.rejects(connect({}), ConnectionRefused);
  other.close();
});

test('F32: the state of a client tells a refusal from an end by close', async () => {
  const states: ConnectionState[] = [];
  await assert.rejects(connected({ token: 'A'.repeat(43), onState: (now) => states.push(now) }), ConnectionRefused);
  assert.deepEqual(states.map(({ kind }) => kind), ['connecting', 'closed']);
  const refused = states[1]!;
  assert.ok(refused.kind === 'closed' && refused.error instanceof ConnectionRefused && refused.reason === refused.error.message);
  const client = await connected();
  await client.close();
  assert.ok(client.state.kind === 'closed' && client.state.error instanceof ClientClosed);
});

test('a host that the server does not serve is refused permanently', { skip: isNative }, async () => {
  const { proxy, server } = await world();
  class OtherHost extends NodeSocket {
    constructor(url: string, protocols?: string | string[]) {
      super(url, protocols, { Host: 'elsewhere.example', Authorization: `Bearer ${server.token}` });
    }
  }
  await assert.rejects(connected({ url: proxy, WebSocket: OtherHost }), (error: unknown) => error instanceof ConnectionRefused && error.reason === 'origin');
});

test('the client waits for a server that is not running', async () => {
  await refuse();
  await cut(); // also connections that a native WebSocket could use again
  const states: ConnectionState[] = [];
  const connecting = connected({
    onState: (now) => {
      states.push(now);
      if (states.length === 5) void accept();
    },
  });
  const client = await connecting;
  assert.deepEqual(
    states.slice(0, 4).map(({ kind }) => kind),
    ['connecting', 'waiting', 'connecting', 'waiting'],
  );
  const [first, waiting] = states;
  assert.ok(first?.kind === 'connecting' && first.attempt === 1);
  assert.ok(waiting?.kind === 'waiting' && waiting.attempt === 1 && waiting.retryAt instanceof Date && waiting.reason === waiting.error.message);
  assert.ok(waiting.error instanceof ServerUnreachable);
  assert.equal(states.at(-1)?.kind, 'open');
  assert.equal(client.state.kind, 'open');
});

test('waiting for a server can be given up', async () => {
  await refuse();
  await cut(); // also connections that a native WebSocket could use again
  const giveUp = new AbortController();
  const reason = new Error('given up');
  await assert.rejects(
    connected({ signal: giveUp.signal, onState: (now) => now.kind === 'waiting' && giveUp.abort(reason) }),
    (error) => error === reason,
  );
  await accept();
});

test('the delay can be ended', async () => {
  const client = await connected({ backoff: { first: 3_600_000, most: 3_600_000 } });
  await cut();
  await state(client, 'waiting');
  client.retryNow();
  await state(client, 'open');
});

test('the endpoint is requested before each attempt', async () => {
  let asked = 0;
  const { proxy, server } = await world();
  const client = await connected({
    find: async () => {
      asked++;
      if (asked === 1) throw new Error('not yet');
      // A stale endpoint of another server refuses, and is gone the next time.
      return { url: proxy, token: asked === 3 ? 'A'.repeat(43) : server.token };
    },
  });
  assert.equal(asked, 2);
  await cut();
  await state(client, 'waiting');
  await state(client, 'open');
  assert.equal(asked, 4);
});

test('a call returns its result or the server\'s error', async () => {
  const client = await connected();
  const s = await session(client);
  const details = await client.call('_strata/session/info', { sessionId: s.id });
  assert.equal(details.session.sessionId, s.id);
  await assert.rejects(client.call('_strata/session/info', { sessionId: 'sess_NONE' }), (error: unknown) => {
    assert.ok(error instanceof RpcError);
    assert.ok(error.code === ErrorCode.notFound);
    assert.equal(error.data?.kind, 'session'); // typed by the code
    assert.deepEqual(error.data, { kind: 'session', id: 'sess_NONE' });
    return true;
  });
});

test('an aborted call is cancelled on the server', async () => {
  const client = await connected();
  const s = await session(client);
  const turn = await busy(s, 'busy');
  const cancel = new AbortController();
  const reason = new Error('no longer wanted');
  const quiet = assert.rejects(client.call('_strata/debug/quiesce', {}, { signal: cancel.signal }), (error) => error === reason);
  await client.call('_strata/server/info', {}); // it was sent
  cancel.abort(reason);
  await quiet;
  await assert.rejects(client.call('_strata/server/info', {}, { signal: cancel.signal }), (error) => error === reason);
  await open('busy');
  await turn.result;
});

test('the result of a call is unknown if the connection was lost', async () => {
  const client = await connected();
  const s = await session(client);
  const turn = await busy(s, 'busy');
  const lost = assert.rejects(client.call('_strata/debug/quiesce', {}), ConnectionLost);
  await client.call('_strata/server/info', {});
  await cut();
  await lost;
  await open('busy');
  await turn.result;
});

test('calls wait for the connection, up to a limit', async () => {
  const client = await connected({ backoff: { first: 3_600_000, most: 3_600_000 } });
  await cut();
  await state(client, 'waiting');
  const cancel = new AbortController();
  const waiting = Array.from({ length: MAX_WAITING - 1 }, () => client.call('_strata/server/info', {}));
  const dropped = client.call('_strata/server/info', {}, { signal: cancel.signal });
  await assert.rejects(client.call('_strata/server/info', {}), LimitExceeded);
  cancel.abort();
  await assert.rejects(dropped, { name: 'AbortError' });
  client.retryNow();
  assert.equal((await Promise.all(waiting)).length, MAX_WAITING - 1);
});

test('a closed client rejects waiting calls', async () => {
  const client = await connected();
  const s = await session(client);
  const turn = await busy(s, 'closing');
  const quiet = client.call('_strata/debug/quiesce', {});
  const settled = Promise.allSettled([turn.result, turn.text(), quiet]);
  const events = s.watch();
  const news = client.serverEvents();
  await events.next();
  await client.close();
  for (const { status, ...outcome } of await settled) {
    assert.equal(status, 'rejected');
    assert.ok((outcome as PromiseRejectedResult).reason instanceof ConnectionLost);
  }
  for await (const _ of events);
  for await (const _ of news);
  for await (const _ of s.watch());
  for await (const _ of client.serverEvents());
  assert.equal(client.state.kind, 'closed');
  await assert.rejects(client.call('_strata/server/info', {}), ClientClosed);
  await assert.rejects(s.prompt('too late').result, ClientClosed);
  await client.close();
  await open('closing');
});
