import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { exportLines, importLines, items, pages, RpcError, type Client, type TransferLine } from '../src/index.js';
import { connected, session, world } from './control.js';
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
  const sessionId = await talked(client, 240);
  const lines = await all(exportLines(client, sessionId));
  assert.equal((JSON.parse(lines[0]!) as TransferLine).type, 'header');
  const [sent, cwd]: [number[], string] = [[], dirname((await world()).project)];
  const imported = await importLines(client, [...lines, '', ' '], { cwd, onPage: (count) => sent.push(count) });
  assert.equal((await all(items(client, '_strata/history/list', { sessionId: imported }))).length, 480);
  assert.equal((await client.call('_strata/session/info', { sessionId: imported })).session.cwd, cwd);
  assert.deepEqual(sent, [400, lines.length]);
});

test('an import is sent in pages of a bounded size, and fails as a whole', async () => {
  const server = new FakeServer();
  const client = await server.connect();
  const sent = () => server.heard.filter(({ method }) => method === '_strata/session/import').map(({ params }) => [params.importId, params.lines.length, params.done]);
  server.answers['_strata/session/import'] = ({ done }) => (done ? { sessionId: 's' } : { importId: 'i' });
  const line = JSON.stringify({ type: 'header', text: 'x'.repeat(600_000) });
  assert.equal(await importLines(client, [line, line, line]), 's');
  assert.deepEqual(sent(), [[undefined, 1, undefined], ['i', 1, undefined], ['i', 1, true]]);

  await assert.rejects(importLines(client, ['{}', '', '{"type":']), /^Error: line 3: /);
  const stop = new AbortController();
  const reason = new Error('enough');
  await assert.rejects(importLines(client, [line, line], { signal: stop.signal, onPage: () => stop.abort(reason) }), (error) => error === reason);
  assert.equal(sent().filter(([, , done]) => done).length, 1);
  await client.close();
});
