import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionRefused, type Client, type ServerEvent, type SessionInfo } from '../../client/src/index.ts';
import { SessionList } from '../src/sessions/list.js';

const info = (sessionId: string): SessionInfo => ({ sessionId, cwd: '/a', updatedAt: '2026-01-01T00:00:00Z' }) as SessionInfo;

/** A server with more sessions than it lists, whose events are given. */
const server = (events: () => AsyncGenerator<ServerEvent>): Client =>
  ({
    call: async (method: string, { sessionId }: { sessionId: string }) => (method === 'session/list' ? { sessions: [info('listed')] } : { session: info(sessionId) }),
    serverEvents: events,
  }) as unknown as Client;

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10));

test('a session of a page that is not loaded is listed after a turn', async () => {
  const list = new SessionList();
  const ended: string[] = [];
  list.onDidEndTurn((id) => ended.push(id));
  list.follow(server(async function* () {
    await settled();
    yield { type: 'state', sessionId: 'old', state: 'idle' } as ServerEvent;
  }));
  await settled();
  await settled();
  list.dispose();
  assert.deepEqual(list.sessions.map((one) => one.info.sessionId).sort(), ['listed', 'old']);
  assert.deepEqual(ended, ['old']);
});

test('a refused connection ends the events of the list without a failure', async () => {
  const failures: unknown[] = [];
  process.on('unhandledRejection', (error) => failures.push(error));
  const list = new SessionList();
  list.follow(server(async function* () {
    throw new ConnectionRefused('the token is wrong', 'token');
  }));
  await settled();
  list.dispose();
  assert.deepEqual(failures, []);
  assert.deepEqual(list.sessions.map((one) => one.info.sessionId), ['listed']);
});
