import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SecretStorage } from 'vscode';
import { Unusable, type FindOptions } from '../src/platform.ts';
import { Connection } from '../src/server/connection.ts';
import { Tokens } from '../src/server/token.ts';
import { editor, Stored } from './desktop/vscode.ts';

const tokens = (): Tokens => new Tokens(new Stored() as unknown as SecretStorage);

/** Waits until a connection has a problem. */
const until = (connection: Connection, problem: string): Promise<void> =>
  new Promise((resolve) => {
    const look = (): void => {
      if (connection.problem === problem) resolve();
    };
    connection.onDidChange(look);
    look();
  });

test('a server that does not start is started again only if the user asks', async () => {
  const found: FindOptions[] = [];
  let called = (): void => {};
  const connection = new Connection(
    {
      local: true,
      find: async (options) => {
        found.push(options);
        called();
        throw options.start ? new Unusable('notStarted', 'the port is taken') : new Unusable('notRunning', 'no server');
      },
    },
    tokens(),
    {},
  );
  const calls = (n: number): Promise<void> => new Promise((resolve) => (called = () => found.length >= n && resolve()));
  const second = calls(2);
  void connection.reconnect();
  await second;
  await until(connection, 'notStarted');
  const third = calls(3);
  void connection.reconnect();
  await third;
  connection.dispose();
  assert.deepEqual(found.slice(0, 3).map(({ start }) => start), [true, false, true]);
});

test('a server that was stopped is started again only if the user asks, one that crashed automatically', async () => {
  const starts: boolean[] = [];
  const sockets: Socket[] = [];
  let isRunning = true;
  class Socket {
    onopen: ((event: object) => void) | null = null;
    onmessage: ((event: object) => void) | null = null;
    onclose: ((event: object) => void) | null = null;
    onerror = null;

    constructor() {
      sockets.push(this);
      setImmediate(() => this.onopen?.({}));
    }

    send(frame: string): void {
      const { id, method } = JSON.parse(frame) as { id?: number; method: string };
      const result = method === 'initialize' ? { protocolVersion: 1, agentCapabilities: { _meta: { strata: { version: '0', methods: [], notifications: [] } } } } : {};
      if (id !== undefined) setImmediate(() => this.onmessage?.({ data: JSON.stringify({ jsonrpc: '2.0', id, result }) }));
    }

    close(code = 1000): void {
      setImmediate(() => this.onclose?.({ code, reason: '' }));
    }
  }
  const connection = new Connection(
    {
      local: true,
      WebSocket: Socket,
      find: async ({ start }) => {
        starts.push(start);
        if (!isRunning && !start) throw new Unusable('notRunning', 'no server');
        isRunning = true;
        return { url: 'ws://127.0.0.1:1', token: 'token' };
      },
    },
    tokens(),
    {},
  );
  const ended = async (code: number): Promise<void> => {
    isRunning = false;
    const lost = new Promise<void>((resolve) => connection.onDidChange(() => connection.state.kind !== 'open' && resolve()));
    sockets.at(-1)!.close(code);
    await lost;
  };
  const open = (): Promise<void> => new Promise((resolve) => {
    const look = (): void => {
      if (connection.state.kind === 'open') resolve();
    };
    connection.onDidChange(look);
    look();
  });
  await connection.reconnect();
  await ended(1006);
  await open();
  assert.deepEqual(starts.splice(0), [true, true]);
  await ended(1001);
  await until(connection, 'stopped');
  isRunning = true; // the user has started one
  connection.retryNow();
  await open();
  assert.ok(starts.splice(0).every((start) => !start));
  await ended(1001);
  await until(connection, 'stopped');
  starts.length = 0;
  await connection.reconnect();
  assert.deepEqual(starts, [true]);
  connection.dispose();
});

test('a token is used for the address for which it was given only', async () => {
  const all = tokens();
  editor.answers.push('first-token');
  await all.ask('wss://first.example/acp');
  assert.equal(await all.read('wss://first.example/acp'), 'first-token');
  for (const other of ['ws://first.example/acp', 'wss://first.example/other', 'wss://first.example:8443/acp', 'wss://second.example/acp']) assert.equal(await all.read(other), '');
});

test('without a usable address or token, nothing is tried', async () => {
  const connection = new Connection({ local: false }, tokens(), {});
  for (const [url, problem] of [['', 'noAddress'], ['http://', 'badAddress'], ['wss://strata.example', 'noToken']] as const) {
    editor.settings['strata.server.url'] = url;
    await connection.reconnect();
    assert.equal(connection.problem, problem);
    assert.equal(connection.state.kind, 'closed');
  }
  connection.dispose();
});

test('a server that is found too late is not the one of the connection', async () => {
  let found = (_: { url: string; token: string }): void => {};
  let searches = (): void => {};
  const searching = new Promise<void>((resolve) => (searches = resolve));
  const all = tokens();
  const connection = new Connection({ local: true, find: () => new Promise((resolve) => ((found = resolve), searches())) }, all, {});
  delete editor.settings['strata.server.url'];
  void connection.reconnect();
  await searching;
  editor.settings['strata.server.url'] = 'ws://server.invalid:1/acp';
  editor.answers.push('token');
  await all.ask('ws://server.invalid:1/acp');
  void connection.reconnect();
  await new Promise(setImmediate);
  found({ url: 'ws://127.0.0.1:9/acp', token: '' });
  await new Promise(setImmediate);
  assert.equal(connection.url, 'ws://server.invalid:1/acp');
  connection.dispose();
  delete editor.settings['strata.server.url'];
});
