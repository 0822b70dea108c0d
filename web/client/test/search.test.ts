import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { RpcError } from '../src/index.js';
import { connected, world } from './control.js';

test('sessions are found by title, and texts within a session', async () => {
  const client = await connected();
  const cwd = await mkdtemp(join((await world()).project, 'search-'));
  const { sessionId } = await client.call('session/new', { cwd, mcpServers: [] });
  await client.call('_strata/session/rename', { sessionId, title: 'The Café of plugins' });
  await client.call('_strata/history/append', { sessionId, messages: [{ role: 'user', content: 'A **nee**dle and a Needle' }] });

  const { sessions, total, nextCursor } = await client.call('_strata/session/search', { query: 'cafe', folder: cwd });
  assert.deepEqual([total, nextCursor, sessions.map((s) => [s.sessionId, s.titleMarks])], [1, undefined, [[sessionId, [[4, 9]]]]]);
  const { places } = await client.call('_strata/history/find', { sessionId, text: 'needle' });
  assert.deepEqual(places.map(({ seq, type, block, part, count }) => ({ seq, type, block, part, count })), [{ seq: 1, type: 'text', block: 0, part: 0, count: 2 }]);
  await assert.rejects(client.call('_strata/history/find', { sessionId, text: 'x'.repeat(1025) }), (e: RpcError) => e.code === -32602);
});
