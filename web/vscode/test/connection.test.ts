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
