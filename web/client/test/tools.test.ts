import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client, ClientTool, NewSessionOptions, SessionHandle } from '../src/index.js';
import { connected, cut, restart, state, stop, world } from './control.js';
import { FakeServer, settled } from './fake.js';

// Tools that the client declares.

const zoom: ClientTool = {
  name: 'zoom',
  description: 'Zooms',
  inputSchema: { type: 'object', properties: { n: { type: 'integer' } } },
  kind: 'other',
  readOnly: true,
};

/** Returns a session whose model calls the tools that its prompts name. */
async function acting(client: Client, options: NewSessionOptions = {}): Promise<SessionHandle> {
  const s = await client.newSession({ cwd: (await world()).project }, options);
  await client.call('session/set_config_option', { sessionId: s.id, configId: 'model', value: 'offline/actor' });
  return s;
}

/** Plays a turn with one call, and returns the text of its result. */
async function play(s: SessionHandle, options: { tools?: ClientTool[] } = {}): Promise<string> {
  const turn = s.prompt('call zoom {"n": 3}\n---\nsay Done.', options);
  let text = '';
  for await (const update of turn) {
    if (update.sessionUpdate !== 'tool_call_update') continue;
    const [first] = update.content ?? [];
    if (first?.type === 'content' && first.content.type === 'text') text = first.content.text;
  }
  assert.equal((await turn.result).stopReason, 'end_turn');
  return text;
}

test('the model calls a tool of the client, also after a lost connection and a restart', async () => {
  const client = await connected();
  const calls: unknown[] = [];
  client.serve('_strata/tool/call', async ({ sessionId, toolCallId, name, input }) => {
    calls.push([sessionId, name, input]);
    assert.match(toolCallId, /^tc_/);
    return { content: [{ type: 'text', text: 'closer' }] };
  });
  const s = await acting(client, { tools: [zoom] });
  assert.equal(await play(s), 'closer');
  await cut();
  await state(client, 'open');
  assert.equal(await play(s), 'closer');
  await stop();
  await restart();
  await state(client, 'open');
  assert.equal(await play(s), 'closer');
  assert.deepEqual(calls, [1, 2, 3].map(() => [s.id, 'zoom', { n: 3 }]));
  assert.match(await play(s, { tools: [] }), /zoom was not run: it is no longer available/);
  assert.equal(calls.length, 3);
});

test('a prompt declares tools, and an error of the handler is told to the model', async () => {
  const client = await connected();
  const s = await acting(client);
  assert.match(await play(s), /there is no tool "zoom"/);
  assert.match(await play(s, { tools: [zoom] }), /zoom failed: the editor responded: this client does not serve the method/);
  client.serve('_strata/tool/call', () => ({ content: [{ type: 'text', text: 'too close' }], isError: true }));
  assert.equal(await play(s), 'too close');
});

test('tools are sent as they are declared', async () => {
  const server = new FakeServer();
  const client = await server.connect({});
  const sent = (method: string) => server.heard.filter((frame) => frame.method === method).map((frame) => frame.params._meta?.strata.tools);
  const pan = { ...zoom, name: 'pan' };
  const s = client.session('s');
  for (const options of [{}, { tools: [zoom] }, {}, { tools: [pan, zoom] }, { tools: [] }, {}]) s.prompt('hello', options).result.catch(() => {});
  await settled();
  assert.deepEqual(sent('session/prompt'), [undefined, [zoom], [zoom], [pan, zoom], [], []]);
  client.newSession({ cwd: '/w' }).catch(() => {});
  client.newSession({ cwd: '/w' }, { tools: [pan] }).catch(() => {});
  await settled();
  assert.deepEqual(sent('session/new'), [undefined, [pan]]);
  await client.close();
});
