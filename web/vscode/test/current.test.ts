import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionRefused, ErrorCode, RpcError, type Client, type SessionEvent } from '../../client/src/index.ts';
import { CurrentSession } from '../src/sessions/current.js';
import { Stored } from './desktop/vscode.ts';

/** A client whose sessions cannot be watched. */
const failing = (error: Error): Client =>
  ({
    session: (id: string) => ({
      id,
      async *watch(): AsyncGenerator<SessionEvent> {
        throw error;
      },
    }),
  }) as unknown as Client;

async function currentAfter(error: Error): Promise<{ id: string | null; remembered: unknown }> {
  const state = new Stored();
  const current = new CurrentSession(state as never);
  current.open('sess_1');
  current.follow(failing(error));
  await new Promise(setImmediate);
  current.dispose();
  return { id: current.id, remembered: state.get('session') };
}

test('the session stays the current one if the server refuses the connection', async () => {
  assert.deepEqual(await currentAfter(new ConnectionRefused('the token is wrong', 'token')), { id: 'sess_1', remembered: 'sess_1' });
});

test('a session that was deleted is no longer the current one', async () => {
  assert.deepEqual(await currentAfter(new RpcError(ErrorCode.notFound, 'no such session', { kind: 'session', id: 'sess_1' })), { id: null, remembered: undefined });
});

test('a session that another client closed is watched again when the user opens it', async () => {
  let watched = 0;
  const client = { session: () => ({ watch: () => (watched++, (async function* () {})()) }) } as unknown as Client;
  const current = new CurrentSession(new Stored() as never);
  current.follow(client);
  current.open('sess_1');
  current.open('sess_1'); // it is being watched
  await new Promise(setImmediate);
  current.open('sess_1');
  current.dispose();
  assert.equal(watched, 2);
});
