import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { Client, ClientTool, ConnectOptions, RequestHandlers, ServerRequests, SessionHandle, Turn } from '../src/index.js';
import { RpcError } from '../src/index.js';
import { MAX_TOOL_SESSIONS } from '../src/tools.js';
import { connected, cut, state, world } from './control.js';
import { FakeServer, settled } from './fake.js';

// Handlers of what the server asks: the user's permission, files, terminals and tools.

type Permission = ServerRequests['session/request_permission'];

const press: ClientTool = {
  name: 'press',
  description: 'Presses a key',
  inputSchema: { type: 'object', properties: { key: { type: 'string' } } },
  kind: 'other',
  run: ({ key }, { sessionId, toolCallId }) => {
    assert.match(sessionId, /^sess_/);
    assert.match(toolCallId, /^tc_/);
    return `pressed ${key}`;
  },
};

async function acting(client: Client, tools: ClientTool[] = []): Promise<SessionHandle> {
  const s = await client.newSession({ cwd: (await world()).project }, { tools });
  await client.call('session/set_config_option', { sessionId: s.id, configId: 'model', value: 'offline/actor' });
  return s;
}

/** Returns the texts of the results of a turn's calls. */
async function results(turn: Turn): Promise<string[]> {
  const calls = await turn.calls();
  return calls.map(({ content = [] }) => content.map((part) => (part.type === 'content' && part.content.type === 'text' ? part.content.text : '')).join());
}

const select = (optionId: string, message?: string): Permission['result'] =>
  ({ outcome: { outcome: 'selected', optionId }, ...(message ? { _meta: { strata: { message } } } : {}) });

test('the user allows a call, allows all, and rejects one with words', async () => {
  const asked: Permission['params'][] = [];
  const answers = [select('reject_once', 'Press a key that exists.'), select('allow_once'), select('allow_always')];
  const client = await connected({ handlers: { permission: (params) => { asked.push(params); return answers[asked.length - 1]!; } } });
  const s = await acting(client, [press]);
  const script = ['Any', 'Escape', 'Enter', 'Tab'].map((key) => `call press {"key":"${key}"}`).join('\n---\n');
  const [rejected, ...pressed] = await results(s.prompt(`${script}\n---\nsay Done.`));
  assert.match(rejected!, /the user rejected the call. The user says: Press a key that exists\./);
  assert.deepEqual(pressed, ['pressed Escape', 'pressed Enter', 'pressed Tab']);
  assert.equal(asked.length, 3);
  assert.equal(asked[0]!.sessionId, s.id);
  assert.deepEqual(asked[0]!.toolCall.rawInput, { key: 'Any' });
  assert.deepEqual(asked[0]!.options.map(({ kind }) => kind), ['allow_once', 'allow_always', 'reject_once']);
});

test('the first answer counts, and the other client is told that it is late', async () => {
  let late!: () => void;
  const told = new Promise<void>((resolve) => (late = resolve));
  let arrived!: () => void;
  const waiting = new Promise<void>((resolve) => (arrived = resolve));
  const slow = await connected({
    handlers: {
      permission: (_params, { signal }) => new Promise((resolve) => {
        signal.addEventListener('abort', () => { resolve(select('reject_once')); late(); });
        arrived();
      }),
    },
  });
  const quick = await connected({ handlers: { permission: () => waiting.then(() => select('allow_once')) } });
  const s = await acting(quick, [press]);
  const watching = slow.session(s.id).watch()[Symbol.asyncIterator]();
  await watching.next();
  assert.deepEqual(await results(s.prompt('call press {"key":"Home"}\n---\nsay Done.')), ['pressed Home']);
  await told;
  await watching.return!();
});

test('a lost connection aborts a question, and the next connection is asked again', async () => {
  const asked: AbortSignal[] = [];
  let again!: () => void;
  const first = new Promise<void>((resolve) => (again = resolve));
  const client = await connected({
    handlers: {
      permission: (_params, { signal }) => {
        asked.push(signal);
        if (asked.length > 1) return select('allow_once');
        again();
        return new Promise(() => {});
      },
    },
  });
  const s = await acting(client, [press]);
  const turn = s.prompt('call press {"key":"End"}\n---\nsay Done.');
  await first;
  await cut();
  await state(client, 'open');
  assert.equal((await turn.result).stopReason, 'end_turn');
  assert.equal(asked[0]!.aborted, true);
  assert.equal(asked.length, 2);
});

test('a client without a handler for permissions is not asked', async () => {
  const asked: string[] = [];
  const client = await connected({ handlers: { permission: () => { asked.push('client'); return select('allow_once'); } } });
  const s = await acting(client, [press]);
  const silent = await connected({ onProblem: (problem) => assert.fail(String(problem)) });
  silent.serve('session/request_permission', () => { asked.push('silent'); return select('reject_once'); });
  const watching = silent.session(s.id).watch()[Symbol.asyncIterator]();
  await watching.next();
  assert.deepEqual(await results(s.prompt('call press {"key":"Up"}\n---\nsay Done.')), ['pressed Up']);
  assert.deepEqual(asked, ['client']);
  await watching.return!();
});

test('the server reads the text of the editor, and is told of an error', async () => {
  const client = await connected({
    handlers: {
      readTextFile: ({ path }) => {
        if (path.endsWith('locked.txt')) throw new RpcError(-32002, 'the buffer is locked');
        return { content: `unsaved text of ${path.split('/').at(-1)}` };
      },
    },
  });
  const s = await acting(client);
  const [read, locked] = await results(s.prompt('call read_file {"path":"open.txt"}\n---\ncall read_file {"path":"locked.txt"}\n---\nsay Done.'));
  assert.match(read!, /unsaved text of open\.txt/);
  assert.doesNotMatch(locked!, /unsaved/);
});

test('the model changes a text of the editor when the user has seen the diff', async () => {
  const texts = new Map<string, string>();
  const diffs: unknown[] = [];
  const client = await connected({
    handlers: {
      permission: ({ toolCall }) => {
        for (const part of toolCall.content ?? []) if (part.type === 'diff') diffs.push([part.oldText, part.newText]);
        return select('allow_once');
      },
      readTextFile: ({ path }) => ({ content: texts.get(path) ?? 'one\ntwo\n' }),
      writeTextFile: ({ path, content }) => { texts.set(path, content); return null; },
    },
  });
  const s = await acting(client);
  await writeFile(`${(await world()).project}/edited.txt`, 'one\ntwo\n');
  const edit = JSON.stringify({ path: 'edited.txt', edits: [{ old_text: 'two', new_text: '2' }] });
  const turn = s.prompt(`call read_file {"path":"edited.txt"}\n---\ncall edit_file ${edit}\n---\nsay Done.`);
  const calls = await turn.calls();
  assert.deepEqual(calls.map(({ status }) => status), ['completed', 'completed']);
  assert.deepEqual([...texts.values()], ['one\n2\n']);
  assert.deepEqual(diffs, [['one\ntwo\n', 'one\n2\n']]);
  assert.equal(calls[1]!.content?.[0]?.type, 'diff');
});

const nothing = () => null;
const terminal = {
  create: () => ({ terminalId: 't' }), output: () => ({ output: 'text', truncated: false }), waitForExit: () => ({ exitCode: 0 }), kill: nothing, release: nothing,
};

test('the capabilities follow from the handlers', async () => {
  const permission = () => select('allow_once');
  const none = { strata: { permission: false } };
  const own = { session: { notices: {}, compaction: {} } };
  const cases: [ConnectOptions, object][] = [
    [{}, { ...own, _meta: none }],
    [{ handlers: {} }, { ...own, _meta: none }],
    [{ handlers: { permission } }, { ...own, _meta: { strata: { permission: true } } }],
    [{ handlers: { readTextFile: () => ({ content: '' }) } }, { ...own, fs: { readTextFile: true }, _meta: none }],
    [{ handlers: { writeTextFile: nothing, terminal, toolCall: () => ({ content: [] }) } }, { ...own, fs: { writeTextFile: true }, terminal: true, _meta: none }],
    [{ clientCapabilities: { fs: { readTextFile: true }, _meta: { other: 1 } as any }, handlers: { writeTextFile: nothing } },
      { fs: { readTextFile: true, writeTextFile: true }, _meta: { other: 1, ...none } }],
    [{ clientCapabilities: { terminal: false, _meta: { strata: { permission: true } } }, handlers: { terminal } },
      { terminal: false, _meta: { strata: { permission: true } } }],
  ];
  for (const [options, capabilities] of cases) {
    const server = new FakeServer();
    const client = await server.connect(options);
    assert.deepEqual(server.heard[0]!.params.clientCapabilities, capabilities);
    await client.close();
  }
});

async function ask(server: FakeServer, id: string, method: string, params: object = {}): Promise<any> {
  server.send({ jsonrpc: '2.0', id, method, params: { sessionId: 's', ...params } });
  await settled();
  return (server.heard as any[]).filter((frame) => frame.method === undefined && frame.id === id);
}

test('each method has its handler', async () => {
  const server = new FakeServer();
  const echo = (name: string) => (params: unknown) => ({ name, params }) as any;
  const handlers: Required<RequestHandlers> = {
    permission: echo('permission'), readTextFile: echo('readTextFile'), writeTextFile: echo('writeTextFile'), toolCall: echo('toolCall'),
    terminal: { create: echo('create'), output: echo('output'), waitForExit: echo('waitForExit'), kill: echo('kill'), release: echo('release') },
    workspace: { list: echo('list'), delete: echo('delete'), move: echo('move') },
  };
  const client = await server.connect({ handlers });
  const names = {
    'session/request_permission': 'permission', 'fs/read_text_file': 'readTextFile', 'fs/write_text_file': 'writeTextFile', '_strata/tool/call': 'toolCall',
    'terminal/create': 'create', 'terminal/output': 'output', 'terminal/wait_for_exit': 'waitForExit', 'terminal/kill': 'kill', 'terminal/release': 'release',
    '_strata/workspace/list': 'list', '_strata/workspace/delete': 'delete', '_strata/workspace/move': 'move',
  };
  for (const [method, name] of Object.entries(names)) {
    const [response] = await ask(server, method, method, { terminalId: name });
    assert.deepEqual(response.result, { name, params: { sessionId: 's', terminalId: name } });
  }
  const [unknown] = await ask(server, 'unknown', 'terminal/other');
  assert.equal(unknown.error.code, -32601);
  await client.close();
});

test('a cancelled request is responded to at once, and its late outcome is dropped', async () => {
  const server = new FakeServer();
  let answer!: (result: Permission['result']) => void;
  const signals: AbortSignal[] = [];
  const client = await server.connect({
    handlers: { permission: (_params, { signal }) => { signals.push(signal); return new Promise((resolve) => (answer = resolve)); } },
  });
  assert.deepEqual(await ask(server, 'a', 'session/request_permission'), []);
  server.notify('$/cancel_request', { requestId: 'a' });
  server.notify('$/cancel_request', { requestId: 'a' });
  await settled();
  const responses = () => (server.heard as any[]).filter((frame) => frame.id === 'a');
  assert.equal(signals[0]!.aborted, true);
  assert.deepEqual(responses().map(({ error }) => error.code), [-32800]);
  answer(select('allow_once'));
  await settled();
  assert.equal(responses().length, 1);
  assert.deepEqual(server.problems, []);
  await client.close();
});

test('a tool runs with its own function, others with the handler', async () => {
  const server = new FakeServer();
  server.answers['session/new'] = () => ({ sessionId: 's' });
  const client = await server.connect({ handlers: { toolCall: ({ name }) => ({ content: [{ type: 'text', text: `other ${name}` }] }) } });
  const inputSchema = { type: 'object' } as const;
  const own: ClientTool = { name: 'own', inputSchema, kind: 'read', readOnly: true, run: ({ n }) => `own ${n}` };
  const failing: ClientTool = { name: 'failing', inputSchema, kind: 'read', run: () => { throw new Error('no luck'); } };
  const plain: ClientTool = { name: 'plain', inputSchema, kind: 'read' };
  const s = await client.newSession({ cwd: '/w' }, { tools: [own, failing, plain] });
  const sent = server.heard.find(({ method }) => method === 'session/new')!.params._meta.strata.tools;
  assert.deepEqual(sent, [{ name: 'own', inputSchema, kind: 'read', readOnly: true }, { name: 'failing', inputSchema, kind: 'read' }, plain]);

  let asked = 0;
  const call = async (name: string, sessionId = 's') => {
    const [{ result, error }] = await ask(server, `c${asked++}`, '_strata/tool/call', { sessionId, toolCallId: 'tc', name, input: { n: 1 } });
    return error ? [error.code, error.message] : result.content[0].text;
  };
  assert.equal(await call('own'), 'own 1');
  assert.deepEqual(await call('failing'), [-32603, 'no luck']);
  assert.equal(await call('plain'), 'other plain');
  assert.equal(await call('own', 'another'), 'other own');
  s.prompt('hello', { tools: [plain] }).result.catch(() => {});
  assert.equal(await call('own'), 'other own');
  const remove = client.serve('_strata/tool/call', ({ name }) => ({ content: [{ type: 'text', text: `later ${name}` }] }));
  assert.equal(await call('plain'), 'later plain');
  remove();
  assert.deepEqual(await call('plain'), [-32601, 'this client does not serve the method']);

  for (let n = 0; n <= MAX_TOOL_SESSIONS; n++) client.session(`s${n}`).prompt('hello', { tools: [own] }).result.catch(() => {});
  assert.equal((await call('own', 's0'))[0], -32601);
  assert.equal(await call('own', 's1'), 'own 1');
  await client.close();
});
