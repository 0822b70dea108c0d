import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RpcError, type Client } from '../src/index.js';
import { MAX_SERVED } from '../src/serving.js';
import { FakeServer, settled } from './fake.js';

// Requests of the server to the client.

const read = (id: unknown, path = '/a.go') => ({ jsonrpc: '2.0', id, method: 'fs/read_text_file', params: { sessionId: 's', path } });

/** Returns the responses that the server has received, in order. */
function responses(server: FakeServer): any[] {
  return server.heard.filter((frame) => frame.method === undefined);
}

async function serving(): Promise<{ server: FakeServer; client: Client }> {
  const server = new FakeServer();
  const client = await server.connect({ clientCapabilities: { fs: { readTextFile: true } } });
  assert.deepEqual(server.heard[0]!.params.clientCapabilities.fs, { readTextFile: true });
  return { server, client };
}

test('a request that the client does not serve is answered with an error', async () => {
  const { server, client } = await serving();
  server.send(read('theirs', '/etc/passwd'));
  server.send({ jsonrpc: '2.0', id: 7, method: '__proto__' });
  await settled();
  assert.deepEqual(responses(server).map(({ id, error }) => [id, error.code]), [['theirs', -32601], [7, -32601]]);
  assert.deepEqual(server.problems, []);
  await client.close();
});

test('a request is answered with the result or the error of its handler', async () => {
  const { server, client } = await serving();
  const remove = client.serve('fs/read_text_file', async ({ sessionId, path }) => {
    if (path === '/missing') throw new RpcError(-32002, 'no such file', { path });
    if (path === '/broken') throw new Error('broken');
    if (path === '/empty') return undefined as any;
    if (path === '/cyclic') {
      const cyclic: any = {};
      return (cyclic.content = cyclic);
    }
    if (path === '/large') return { content: 'x'.repeat(16 << 20) };
    return { content: `${sessionId} ${path}` };
  });
  for (const [id, path] of [['a', '/a'], [1, '/missing'], ['1', '/broken'], [2, '/empty'], [3, '/cyclic'], [4, '/large']] as const) {
    server.send(read(id, path));
  }
  await settled();
  const [a, missing, broken, empty, cyclic, large, ...rest] = responses(server);
  assert.deepEqual(a, { jsonrpc: '2.0', id: 'a', result: { content: 's /a' } });
  assert.deepEqual(missing, { jsonrpc: '2.0', id: 1, error: { code: -32002, message: 'no such file', data: { path: '/missing' } } });
  assert.deepEqual(broken, { jsonrpc: '2.0', id: '1', error: { code: -32603, message: 'broken' } });
  assert.deepEqual(empty, { jsonrpc: '2.0', id: 2, result: null });
  assert.deepEqual([cyclic.id, cyclic.error.code, large.id, large.error.code], [3, -32603, 4, -32603]);
  assert.match(large.error.message, /exceeds the server's limit/);
  assert.deepEqual(rest, []);

  const other = client.serve('fs/read_text_file', () => ({ content: 'other' }));
  remove(); // it has been replaced
  server.send(read('b'));
  await settled();
  assert.deepEqual(responses(server).at(-1).result, { content: 'other' });
  other();
  server.send(read('c'));
  await settled();
  assert.equal(responses(server).at(-1).error.code, -32601);
  await client.close();
});

test('a cancelled request is aborted', async () => {
  const { server, client } = await serving();
  const aborted: string[] = [];
  client.serve('fs/read_text_file', ({ path }, { signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        aborted.push(path);
        reject(signal.reason);
      });
    }));
  server.send(read(1, '/number'));
  server.send(read('1', '/text'));
  for (const params of [{ requestId: 2 }, { requestId: null }, {}, null, 7]) server.notify('$/cancel_request', params);
  await settled();
  assert.deepEqual(aborted, []);
  server.notify('$/cancel_request', { requestId: '1' });
  await settled();
  assert.deepEqual(aborted, ['/text']);
  assert.deepEqual(responses(server).map(({ id, error }) => [id, error.code]), [['1', -32800]]);
  assert.deepEqual(server.problems, []);

  // The end of the connection aborts the rest, and nobody answers them on the next one.
  server.socket.lose();
  await settled();
  assert.deepEqual(aborted, ['/text', '/number']);
  await client.call('_strata/providers/list', {});
  assert.equal(responses(server).length, 1);

  // The handler serves the next connection, too.
  server.send(read(1, '/again'));
  server.notify('$/cancel_request', { requestId: 1 });
  await settled();
  assert.deepEqual(aborted, ['/text', '/number', '/again']);
  assert.deepEqual(responses(server).at(-1).id, 1);
  await client.close();
});

test('requests of the server are bounded, and an id in flight is not served twice', async () => {
  const { server, client } = await serving();
  const waiting: ((result: { content: string }) => void)[] = [];
  client.serve('fs/read_text_file', () => new Promise((resolve) => waiting.push(resolve)));
  for (let id = 0; id < MAX_SERVED; id++) server.send(read(id));
  server.send(read(0));
  server.send(read('more'));
  await settled();
  assert.equal(waiting.length, MAX_SERVED);
  assert.deepEqual(responses(server).map(({ id, error }) => [id, error.code]), [['more', -32600]]);
  for (const resolve of waiting) resolve({ content: '' });
  await settled();
  assert.equal(responses(server).length, MAX_SERVED + 1);
  server.send(read('more'));
  await settled();
  assert.equal(waiting.length, MAX_SERVED + 1);
  await client.close();
});
