import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportLines, items, pages, RpcError, type Client, type TransferLine } from '../src/index.js';
import { connected, session } from './control.js';
import { FakeServer } from './fake.js';

/** A session with user messages `0`, `1` and so on, each with a reply. */
async function talked(client: Client, exchanges: number): Promise<string> {
  const { id: sessionId } = await session(client);
  const messages = Array.from({ length: exchanges }, (_, i) => [
    { role: 'user' as const, content: `${i}` },
    { role: 'assistant' as const, content: `reply ${i}` },
  ]).flat();
  await client.call('_strata/history/append', { sessionId, messages });
  return sessionId;
}

async function all<T>(from: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of from) list.push(item);
  return list;
}

test('the items of all pages are one list, from the newest on', async () => {
  const client = await connected();
  const sessionId = await talked(client, 6);
  const texts = (await all(items(client, '_strata/history/list', { sessionId, limit: 5 }))).map(({ blocks: [block] }) => block?.type === 'text' && block.text);
  assert.deepEqual(texts, [5, 4, 3, 2, 1, 0].flatMap((i) => [`reply ${i}`, `${i}`]));
  const read = await all(pages(client, '_strata/history/list', { sessionId, limit: 5 }));
  assert.deepEqual(read.map(({ messages }) => messages.length), [5, 5, 2]);
});

test('a page is fetched when it is needed', async () => {
  const server = new FakeServer();
  let asked = 0;
  server.answers['session/list'] = ({ cursor = '0' }) => {
    asked++;
    return { sessions: [{ sessionId: `s${cursor}`, cwd: '/', updatedAt: '' }], nextCursor: `${Number(cursor) + 1}` };
  };
  const client = await server.connect();
  for await (const { sessionId } of items(client, 'session/list', {})) if (sessionId === 's2') break;
  assert.equal(asked, 3);
  server.answers['session/list'] = () => ({ sessions: [], nextCursor: 'same' });
  await assert.rejects(all(items(client, 'session/list', {})), /repeats the page same/);
  await client.close();
});

test('paging can be aborted, and errors of the server are thrown', async () => {
  const client = await connected();
  const sessionId = await talked(client, 3);
  const stop = new AbortController();
  const reason = new Error('enough');
  const list = items(client, '_strata/history/list', { sessionId, limit: 1 }, { signal: stop.signal });
  await list.next();
  stop.abort(reason);
  await assert.rejects(list.next(), (error) => error === reason);
  await assert.rejects(items(client, '_strata/history/list', { sessionId: 'sess_NONE' }).next(), RpcError);
});

test('the lines of an export can be imported', async () => {
  const client = await connected();
  const sessionId = await talked(client, 4);
  const lines = (await all(exportLines(client, sessionId))).map((line) => JSON.parse(line) as TransferLine);
  assert.equal(lines[0]?.type, 'header');
  assert.equal(lines.filter(({ type }) => type === 'message').length, 8);
  const imported = await client.call('_strata/session/import', { lines, done: true });
  const texts = (await all(items(client, '_strata/history/list', { sessionId: imported.sessionId! }))).length;
  assert.equal(texts, 8);
});
