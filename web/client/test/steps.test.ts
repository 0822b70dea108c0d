import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RpcError, type DeclaredTool, type ToolCall, type ToolCallUpdate, type Turn, type Update } from '../src/index.js';
import { connected, cut, kill, restart, state, textOf, world } from './control.js';
import { FakeServer, settled, snapshot } from './fake.js';

// Replies with several steps, each with a message of its own.

const ACTOR = 'offline/actor';

const look: DeclaredTool = { name: 'look', description: 'Looks', inputSchema: { type: 'object' }, kind: 'read', readOnly: true };

/** A tool whose calls return when they are let go, on a connection that is never cut. */
class Gated {
  readonly #arrived: (() => void)[] = [];
  readonly #waiting: (() => void)[] = [];

  /** Returns a session whose model can call the tool. */
  async session(): Promise<string> {
    const { server, project } = await world();
    const client = await connected({ url: server.url });
    client.serve('_strata/tool/call', async () => {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        this.#arrived.shift()?.();
      });
      return { content: [{ type: 'text', text: 'seen' }] };
    });
    const s = await client.newSession({ cwd: project }, { tools: [look] });
    await client.call('session/set_config_option', { sessionId: s.id, configId: 'model', value: ACTOR });
    return s.id;
  }

  /** Waits for a call. */
  async called(): Promise<void> {
    if (this.#waiting.length === 0) await new Promise<void>((resolve) => this.#arrived.push(resolve));
  }

  letGo(): void {
    this.#waiting.shift()!();
  }
}

const STEPS = 'think Hm.\nsay One.\ncall look\n---\nsay Two.\ncall look\n---\nsay Three.';
const TEXT = 'One.\n\nTwo.\n\nThree.';

async function all(turn: Turn | AsyncIterator<Update>): Promise<Update[]> {
  const iterator = Symbol.asyncIterator in turn ? turn[Symbol.asyncIterator]() : turn;
  const updates: Update[] = [];
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) updates.push(next.value);
  return updates;
}

/** The texts of the messages in updates, in the order of the messages. */
function messages(updates: Update[]): string[] {
  const texts = new Map<string, string>();
  for (const update of updates) {
    if (update.sessionUpdate === 'agent_message_chunk') texts.set(update.messageId, (texts.get(update.messageId) ?? '') + textOf(update));
  }
  return [...texts.values()];
}

const isCall = (update: Update): update is ToolCall | ToolCallUpdate =>
  update.sessionUpdate === 'tool_call' || update.sessionUpdate === 'tool_call_update';

/** The states of calls, as `tool_call 1 pending`, with the calls numbered by their first update. */
function states(updates: Update[]): string[] {
  const ids: string[] = [];
  return updates.filter(isCall).map(({ sessionUpdate, toolCallId, status }) => {
    if (!ids.includes(toolCallId)) ids.push(toolCallId);
    return `${sessionUpdate} ${ids.indexOf(toolCallId) + 1} ${status}`;
  });
}

const WHOLE = [1, 2].flatMap((n) => [`tool_call ${n} pending`, `tool_call_update ${n} in_progress`, `tool_call_update ${n} completed`]);

/** Checks what a turn with two calls has in the end. */
async function assertWhole(turn: Turn): Promise<void> {
  assert.equal((await turn.result).stopReason, 'end_turn');
  assert.equal(await turn.text(), TEXT);
  const calls = await turn.calls();
  assert.deepEqual(calls.map(({ sessionUpdate, status }) => [sessionUpdate, status]), [['tool_call', 'completed'], ['tool_call', 'completed']]);
  assert.deepEqual(calls[1]!.content, [{ type: 'content', content: { type: 'text', text: 'seen' } }]);
  assert.deepEqual(calls[1]!.rawInput, {});
  assert.equal(new Set(calls.map(({ _meta }) => _meta!.strata.messageId)).size, 2);
}

test('the reply of a turn has the messages of all steps, their calls and the plan', async () => {
  const client = await connected();
  const s = await client.newSession({ cwd: (await world()).project });
  await client.call('session/set_config_option', { sessionId: s.id, configId: 'model', value: ACTOR });
  const entries = [{ content: 'look', priority: 'high', status: 'pending' }];
  const turn = s.prompt(`say One.\ncall list_files\n---\ncall update_plan ${JSON.stringify({ entries })}\n---\nsay Done.`);
  const updates = await all(turn);
  assert.deepEqual(messages(updates), ['One.', 'Done.']);
  assert.equal(await turn.text(), 'One.\n\nDone.');
  assert.deepEqual(states(updates), WHOLE);
  assert.deepEqual(updates.filter(({ sessionUpdate }) => sessionUpdate === 'plan'), [{ sessionUpdate: 'plan', entries }]);
  assert.deepEqual((await turn.calls()).map(({ kind }) => kind), ['read', 'think']);
  const last = updates.findLast(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk') as { messageId: string };
  assert.equal(last.messageId, (await turn.result)._meta!.strata.messageId);
});

test('a reply with steps survives lost connections: nothing repeated, nothing missing', async () => {
  const tool = new Gated();
  const id = await tool.session();
  const client = await connected({ backoff: { first: 3_600_000, most: 3_600_000 } });
  const turn = client.session(id).prompt(STEPS);
  await tool.called();
  await cut();
  await state(client, 'waiting');
  client.retryNow();
  await state(client, 'open');
  tool.letGo();
  await tool.called();
  await cut();
  await state(client, 'waiting');
  tool.letGo(); // the rest of the turn passes without a connection, or not
  client.retryNow();
  const updates = await all(turn);
  assert.deepEqual(messages(updates), ['One.', 'Two.', 'Three.']);
  const seen = states(updates);
  assert.deepEqual(seen, [...new Set(seen)]);
  assert.deepEqual(seen.slice(0, 3), WHOLE.slice(0, 3));
  // The transcript does not tell that the call ran, if the client was late.
  assert.deepEqual(seen.filter((line) => /pending|completed/.test(line)), WHOLE.filter((line) => !line.includes('in_progress')));
  await assertWhole(turn);
});

test('a prompt that joins a turn gets all steps, while it runs and afterwards', async () => {
  const tool = new Gated();
  const id = await tool.session();
  const first = (await connected()).session(id).prompt(STEPS, { promptId: 'joined' });
  await tool.called();
  tool.letGo();
  await tool.called();
  const other = await connected();
  const running = other.session(id).prompt(STEPS, { promptId: 'joined' });
  for (let i = 0; i < 2; i++) await other.call('_strata/session/info', { sessionId: id }); // then the server has the prompt
  tool.letGo();
  await assertWhole(first);
  for (const turn of [running, other.session(id).prompt(STEPS, { promptId: 'joined' })]) {
    await assertWhole(turn);
    const updates = await all(turn);
    assert.deepEqual(messages(updates), ['One.', 'Two.', 'Three.']);
    const thoughts = updates.filter(({ sessionUpdate }) => sessionUpdate === 'agent_thought_chunk');
    assert.equal(thoughts.length, 1);
  }
});

test('a turn whose server ended in mid-call has the finished steps, and its call has failed', async () => {
  const tool = new Gated();
  const id = await tool.session();
  const turn = (await connected()).session(id).prompt(STEPS);
  await tool.called();
  tool.letGo();
  await tool.called();
  await kill();
  await restart();
  const interrupted = (error: unknown) => error instanceof RpcError && /the server ended/.test(error.message);
  await assert.rejects(turn.result, interrupted);
  const updates: Update[] = [];
  await assert.rejects(async () => {
    for await (const update of turn) updates.push(update);
  }, interrupted);
  assert.deepEqual(messages(updates), ['One.', 'Two.']);
  assert.equal(states(updates).at(-1), 'tool_call_update 2 failed');
  await assert.rejects(turn.calls(), interrupted);
});

// Against a server in this process, which sends what is wanted.

const text = (messageId: string, text: string) => ({ sessionUpdate: 'agent_message_chunk', messageId, content: { type: 'text', text } });
const call = (toolCallId: string, messageId: string) => ({ sessionUpdate: 'tool_call', toolCallId, title: 'look', kind: 'other', status: 'pending', _meta: { strata: { messageId } } });
const progress = (toolCallId: string, status: string) => ({ sessionUpdate: 'tool_call_update', toolCallId, title: 'Look', status });

const stored = (id: string, seq: number, role: string, ...blocks: object[]) => ({ id, seq, role, turnId: 't', blocks, tokens: 1, at: '', inView: true });
const step = (n: number) => [
  stored(`m${n}`, 2 * n, 'assistant', { type: 'text', text: `${n}.` }, { type: 'tool_call', callId: `c${n}`, name: 'look', args: '{}' }),
  stored(`r${n}`, 2 * n + 1, 'tool', { type: 'tool_result', callId: `c${n}`, content: [{ type: 'text', text: 'seen' }], call: { title: 'Look', plan: [{ content: `plan ${n}`, priority: 'high', status: 'pending' }] } }),
];
const other = { ...stored('o', 0, 'assistant', { type: 'text', text: 'of another turn' }), turnId: 'other' };
const prompted = stored('u', 1, 'user', { type: 'text', text: 'x' });

/** A turn whose first chunk was delivered before the connection was lost. */
async function interrupted() {
  const server = new FakeServer();
  server.answers = {
    '_strata/session/info': () => ({ epoch: 'e', seq: 10 }),
    '_strata/session/attach': () => ({ epoch: 'e', seq: 10, running: null, complete: true }),
    'session/prompt': () => undefined,
  };
  const client = await server.connect();
  const turn = client.session('s').prompt('x');
  await settled();
  server.event(11, 'turn_started', { turnId: 't', promptId: turn.promptId, messageId: 'm1', userMessageId: 'u', model: 'x' });
  server.update(12, text('m1', '1'));
  server.update(13, call('c1', 'm1'));
  await settled();
  const end = async () => {
    const { id } = server.heard.findLast(({ method }) => method === 'session/prompt')!;
    server.send({ jsonrpc: '2.0', id, result: { stopReason: 'end_turn', _meta: { strata: { turnId: 't' } } } });
    await turn.result;
  };
  /** Loses the connection; the next one begins with a snapshot. */
  const lose = async (messages: object[], more: object) => {
    server.answers['_strata/session/attach'] = () => ({ epoch: 'e', seq: 90, running: 't', complete: false, snapshot: { ...snapshot(), messages, ...more } });
    server.socket.lose();
    await new Promise<void>((resolve) => {
      const forget = client.onState(({ kind }) => kind === 'open' && (forget(), resolve()));
    });
    await settled();
  };
  return { server, client, turn, end, lose };
}

const running = { turnId: 't', messageId: 'm4', text: '4' };

test('a snapshot in mid-turn continues the reply, with the steps that its messages do not reach', async () => {
  const { server, client, turn, lose, end } = await interrupted();
  const asked: unknown[] = [];
  server.answers['_strata/history/list'] = (params) => {
    asked.push(params.cursor);
    return undefined; // later
  };
  await lose(step(3), { nextCursor: '6', running });
  server.update(91, text('m4', '.'));
  const answer = (messages: object[], nextCursor?: string) => {
    const { id } = server.heard.findLast(({ method }) => method === '_strata/history/list')!;
    server.send({ jsonrpc: '2.0', id, result: { messages, nextCursor } });
  };
  answer(step(2), '4');
  await settled();
  answer([prompted, ...step(1)], '1');
  await settled();
  assert.deepEqual(asked, ['6', '4']);
  server.update(92, call('c4', 'm4'));
  server.event(93, 'turn_finished', { turnId: 't' });
  await end();
  const updates = await all(turn);
  assert.deepEqual(messages(updates), ['1.', '2.', '3.', '4.']);
  assert.equal(updates.filter(({ sessionUpdate }) => sessionUpdate === 'plan').length, 1); // the newest one
  assert.equal(await turn.text(), '1.\n\n2.\n\n3.\n\n4.');
  assert.deepEqual((await turn.calls()).map(({ toolCallId, status }) => `${toolCallId} ${status}`), ['c1 completed', 'c2 completed', 'c3 completed', 'c4 pending']);
  await client.close();
});

test('a snapshot that reaches what was delivered needs no pages', async () => {
  const { server, client, turn, lose, end } = await interrupted();
  await lose(step(1), { nextCursor: '2', running });
  server.update(91, text('m4', '.'));
  server.update(92, { sessionUpdate: 'plan', entries: [{ content: 'plan 1', priority: 'high', status: 'pending' }] }); // again
  server.event(93, 'turn_finished', { turnId: 't' });
  await end();
  const updates = await all(turn);
  assert.deepEqual(messages(updates), ['1.', '4.']);
  assert.deepEqual(states(updates), ['tool_call 1 pending', 'tool_call_update 1 undefined', 'tool_call_update 1 completed']);
  assert.equal(updates.filter(({ sessionUpdate }) => sessionUpdate === 'plan').length, 1);
  assert.equal(await turn.text(), '1.\n\n4.');
  assert.equal(server.count('_strata/history/list'), 0);
  await client.close();
});

test('a reply whose missing steps cannot be read is completed at its end', async () => {
  const { server, client, turn, lose, end } = await interrupted();
  server.answers['_strata/history/list'] = () => undefined;
  await lose(step(3), { nextCursor: '6', running });
  const { id } = server.heard.findLast(({ method }) => method === '_strata/history/list')!;
  server.answers['_strata/history/list'] = ({ cursor }) =>
    cursor === undefined ? { messages: [...step(2), ...step(3)], nextCursor: '4' } : { messages: [other, prompted, ...step(1)] };
  await end();
  server.send({ jsonrpc: '2.0', id, result: { messages: [prompted, ...step(1), ...step(2)] } }); // too late
  assert.equal(await turn.text(), '1.\n\n2.\n\n3.');
  assert.deepEqual(messages(await all(turn)), ['1.', '2.', '3.']);
  await client.close();
});

test('an attempt that is repeated ends its calls, and its message has no text', async () => {
  const { server, client, turn, end } = await interrupted();
  server.update(14, progress('c1', 'failed'));
  server.update(15, progress('c1', 'in_progress')); // says nothing: the call is over
  server.update(16, call('c2', 'm2'));
  server.update(17, call('c2', 'm2')); // likewise
  server.update(18, progress('c2', 'completed'));
  server.event(19, 'turn_finished', { turnId: 't' });
  server.update(20, call('c3', 'other')); // of the next turn
  await end();
  assert.deepEqual(states(await all(turn)), ['tool_call 1 pending', 'tool_call_update 1 failed', 'tool_call 2 pending', 'tool_call_update 2 completed']);
  assert.deepEqual((await turn.calls()).map(({ toolCallId, title, status }) => [toolCallId, title, status]), [['c1', 'Look', 'failed'], ['c2', 'Look', 'completed']]);
  await client.close();
});
