import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { RpcError, type Client, type IndexStatus } from '../src/index.js';
import { connected, script, until, world } from './control.js';

const SOURCE = `package shop

import "fmt"

// Basket holds the goods of a customer.
type Basket struct{ goods []string }

func (b *Basket) Add(name string) { b.goods = append(b.goods, name) }

func (b *Basket) Show() string { return fmt.Sprint(b.goods) }
`;

/** Waits until the index of a session's folder is complete with a number of files, and returns its state. */
async function indexed(client: Client, sessionId: string, files: number): Promise<IndexStatus> {
  for (;;) {
    const { index } = await client.call('_strata/outline/search', { sessionId, query: '' });
    if (index.complete && index.files === files) return index;
    await setTimeout(20);
  }
}

/** A client with a session in an indexed folder of its own, which has one source file and one that has no outline. */
async function inShop() {
  const client = await connected();
  const cwd = await mkdtemp(join((await world()).project, 'shop-'));
  await writeFile(join(cwd, 'basket.go'), SOURCE);
  await writeFile(join(cwd, 'notes.txt'), 'Buy milk.\n');
  const s = await client.newSession({ cwd });
  await indexed(client, s.id, 2);
  return { client, cwd, s, sessionId: s.id };
}

test('the index of a folder reports its progress, and a search its symbols', async () => {
  const { client, cwd, s, sessionId } = await inShop();
  const events = s.watch();
  await until(events, ({ type }) => type === 'snapshot');
  await writeFile(join(cwd, 'shelf.py'), 'class Shelf:\n    pass\n');
  const { outlined, pending, problem } = await indexed(client, sessionId, 3);
  assert.deepEqual([outlined, pending, problem], [2, 0, undefined]);
  const last = (await until(events, (e) => e.type === 'event' && e.event.type === 'index' && e.event.complete && e.event.files === 3)).at(-1);
  assert.ok(last?.type === 'event' && last.event.type === 'index');
  assert.deepEqual([last.event.outlined, last.event.pending, last.event.problem], [2, 0, undefined]);

  const { symbols, index } = await client.call('_strata/outline/search', { sessionId, query: 'show', limit: 1 });
  assert.deepEqual(symbols.map(({ path, name, line }) => [path, name, line]), [['basket.go', 'Basket.Show', 10]]);
  assert.ok(symbols[0]!.score > 0 && index.complete && index.files === 3);
  const files = await client.call('_strata/outline/search', { sessionId, query: 'notes' });
  assert.deepEqual(files.symbols.map(({ path, name, kind, line }) => [path, name, kind, line]), [['notes.txt', 'notes.txt', 'file', undefined]]);
});

test('an outline has the imports and symbols of a file, and says how much the model is shown', async () => {
  const { client, sessionId } = await inShop();
  const outline = await client.call('_strata/outline/get', { sessionId, path: 'basket.go' });
  assert.deepEqual(outline.imports, [{ path: 'fmt', line: 3 }]);
  assert.deepEqual(outline.symbols.map(({ name, line, endLine }) => [name, line, endLine]), [['shop', 1, 1], ['Basket', 6, 6], ['Basket.Add', 8, 8], ['Basket.Show', 10, 10]]);
  assert.ok(outline.symbols.every(({ kind, signature, depth }) => kind !== '' && signature !== '' && depth >= 0));
  assert.deepEqual([outline.state, outline.language, outline.partial], ['not_available', 'go', undefined]);
  assert.ok(outline.text.includes('Basket') && outline.tokens > 0 && outline.hash.length === 64);

  const bare = await client.call('_strata/outline/get', { sessionId, path: 'notes.txt' });
  assert.deepEqual([bare.language, bare.symbols, bare.text], ['', [], '']);

  const added = await client.call('_strata/files/add', { sessionId, path: 'basket.go', state: 'summary' });
  assert.equal(added.state, 'summary_only');
  assert.equal((await client.call('_strata/outline/get', { sessionId, path: 'basket.go' })).state, 'summary_only');
  await client.call('_strata/files/add', { sessionId, path: 'basket.go' });
  assert.equal((await client.call('_strata/outline/get', { sessionId, path: 'basket.go' })).state, 'full');
  await assert.rejects(
    client.call('_strata/files/add', { sessionId, path: 'notes.txt', state: 'summary' }),
    (error: unknown) => error instanceof RpcError && error.code === -32013,
  );
});

test('requests contain outlines that nobody added: the breakdown and the list of files name them', async () => {
  const { client, s, sessionId } = await inShop();
  await script({ text: 'Two files.' });
  await s.prompt('What is here?').result;
  const { tiers, categories, index } = await client.call('_strata/context/breakdown', { sessionId });
  const keys = tiers.flatMap(({ items }) => items).filter(({ kind }) => kind === 'outline').map(({ key }) => key);
  assert.deepEqual(keys, ['outline-heading', 'outline:basket.go']);
  assert.ok((categories.find(({ name }) => name === 'outlines')?.tokens ?? 0) > 0);
  assert.deepEqual([index?.complete, index?.files, index?.outlined, index?.pending], [true, 2, 1, 0]);
  assert.deepEqual((await client.call('_strata/files/list', { sessionId })).files, []);
  const { files } = await client.call('_strata/files/list', { sessionId, outlines: true });
  assert.deepEqual(files.map(({ path, state }) => [path, state]), [['basket.go', 'summary_only']]);
  assert.ok(files[0]!.tokens > 0 && files[0]!.reason);
});
