import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assemble, items, RpcError, runTurn, type Assembled, type Block, type ModelReply, type ModelTool } from '../src/index.js';
import { connected, session } from './control.js';

const usage = { input: 20, output: 4, cacheRead: 0, cacheWrite: 0 };

/** The texts of a request's messages, without the system prompt. */
const textsOf = ({ messages }: Assembled) =>
  messages.filter(({ role }) => role !== 'system').map(({ content }) => content.map((block) => (block.type === 'text' ? block.text : block.type)).join());

test('a reply to an assembled request is stored with its usage', async () => {
  const client = await connected();
  const { id } = await session(client);
  await client.call('_strata/history/append', { sessionId: id, messages: [{ role: 'user', content: 'Hello?' }] });
  const request = await assemble(client, id);
  assert.equal(textsOf(request).at(-1), 'Hello?');
  const stored = await request.commit({ content: 'Hello.', usage });
  assert.deepEqual(stored.usage, usage);
  await assert.rejects(request.commit({ content: 'Hello.' }), (error: unknown) => error instanceof RpcError && error.code === -32602);
  assert.equal(textsOf(await assemble(client, id)).at(-1), 'Hello.');
});

const weather: ModelTool = {
  name: 'weather',
  description: 'The weather in a city',
  inputSchema: { type: 'object' },
  run: ({ city }) => (city === 'Oslo' ? 'Rain.' : Promise.reject(new Error(`no city ${city}`))),
};

const call = (callId: string, name: string, input: object): Block => ({ type: 'tool_call', callId, name, args: JSON.stringify(input) });

test('a turn with a model of the frontend calls its tools until the model is done', async () => {
  const client = await connected();
  const { id } = await session(client);
  const replies: ModelReply[] = [
    { content: [{ type: 'text', text: 'I look.' }, call('c1', 'weather', { city: 'Oslo' }), call('c2', 'weather', { city: 'Ys' }), call('c3', 'tides', {})], usage },
    { content: 'It rains.', usage },
  ];
  const requests: Assembled[] = [];
  const model = async (request: Assembled) => (requests.push(request), replies[requests.length - 1]!);
  const turn = await runTurn(client, id, { prompt: 'How is the weather?', meta: { from: 'test' }, tools: [weather], model });
  assert.equal(turn.text, 'I look.\n\nIt rains.');
  assert.equal(turn.stopReason, 'end_turn');
  assert.equal(turn.steps.length, 2);
  assert.deepEqual(requests[0]!.tools.map(({ name }) => name), ['weather']);
  assert.ok(!('commit' in requests[0]!));
  const stored = [];
  for await (const message of items(client, '_strata/history/list', { sessionId: id })) stored.unshift(message);
  assert.deepEqual(stored.map(({ role }) => role), ['user', 'assistant', 'tool', 'assistant']);
  assert.deepEqual(stored[0]!.meta, { from: 'test' });
  const results = stored[2]!.blocks.map((block) => block.type === 'tool_result' && [block.callId, block.isError === true, block.content]);
  assert.deepEqual(results, [
    ['c1', false, [{ type: 'text', text: 'Rain.' }]],
    ['c2', true, [{ type: 'text', text: 'no city Ys' }]],
    ['c3', true, [{ type: 'text', text: 'there is no tool tides' }]],
  ]);
});

test('a turn ends at its limit of steps, and with its signal', async () => {
  const client = await connected();
  const { id } = await session(client);
  let n = 0;
  const model = async () => ({ content: [call(`c${++n}`, 'weather', { city: 'Oslo' })], usage });
  assert.equal((await runTurn(client, id, { prompt: 'Go on', tools: [weather], model, maxSteps: 2 })).stopReason, 'max_steps');
  const stop = new AbortController();
  const reason = new Error('enough');
  const stopping: ModelTool = { ...weather, run: () => (stop.abort(reason), 'Rain.') };
  await assert.rejects(runTurn(client, id, { tools: [stopping], model, signal: stop.signal }), (error) => error === reason);
  assert.equal(n, 3);
});
