import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client, TerminalHandlers, ToolCallUpdate, Update } from '../src/index.js';
import { FakeServer, ready, settled } from './fake.js';

// Commands in terminals of the client, and the output of commands that run elsewhere.

/** The example in the README. The module is made of it, so a build without it must not need it. */
const { terminal } = (await import('./readme-terminal.js' as string)) as { terminal: TerminalHandlers };

/** Sends requests for terminals, as the server does when a command runs. */
class Requests {
  readonly #server = new FakeServer();
  readonly #client: Promise<Client> = this.#server.connect({ handlers: { terminal } });
  #sent = 0;

  async ask(method: string, params: object): Promise<any> {
    await this.#client;
    const id = `r${++this.#sent}`;
    this.#server.send({ jsonrpc: '2.0', id, method: `terminal/${method}`, params: { sessionId: 's', ...params } });
    for (;;) {
      const response = (this.#server.heard as any[]).find((frame) => frame.method === undefined && frame.id === id);
      if (response) return response.error ?? response.result;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  run(line: string, more: object = {}): Promise<{ terminalId: string }> {
    return this.ask('create', { command: '/bin/sh', args: ['-c', line], ...more });
  }

  async close(): Promise<void> {
    await (await this.#client).close();
  }
}

test('the terminals of the README run a command with its environment', async () => {
  const requests = new Requests();
  const env = [{ name: 'GREETING', value: 'hello' }];
  const opened = await requests.run('echo $GREETING; echo no >&2; exit 3', { env, cwd: '/', outputByteLimit: 1024 });
  assert.deepEqual(await requests.ask('wait_for_exit', opened), { exitCode: 3, signal: null });
  const { output, ...rest } = await requests.ask('output', opened);
  assert.deepEqual(output.split('\n').sort(), ['', 'hello', 'no']);
  assert.deepEqual(rest, { truncated: false, exitStatus: { exitCode: 3, signal: null } });
  assert.equal(await requests.ask('kill', opened), null);
  assert.equal(await requests.ask('release', opened), null);
  assert.equal((await requests.ask('output', opened)).code, -32603);
  await requests.close();
});

test('the terminals of the README keep the end of a long output', async () => {
  const requests = new Requests();
  const opened = await requests.run('seq 100000', { outputByteLimit: 14 });
  await requests.ask('wait_for_exit', opened);
  const { output, truncated } = await requests.ask('output', opened);
  assert.deepEqual([output, truncated], ['\n99999\n100000\n', true]);
  await requests.ask('release', opened);
  await requests.close();
});

test('the terminals of the README end a command with its processes', async () => {
  const requests = new Requests();
  const opened = await requests.run('echo ready; sleep 1000 | cat');
  while ((await requests.ask('output', opened)).output !== 'ready\n');
  assert.equal((await requests.ask('output', opened)).exitStatus, undefined);
  const exit = requests.ask('wait_for_exit', opened);
  await requests.ask('kill', opened);
  assert.deepEqual(await exit, { exitCode: null, signal: 'SIGTERM' });
  assert.equal((await requests.ask('output', opened)).output, 'ready\n');
  await requests.ask('release', opened);
  await requests.close();
});

test('a command that cannot start has an exit code', async () => {
  const requests = new Requests();
  const opened = await requests.ask('create', { command: '/no/such/program' });
  assert.deepEqual(await requests.ask('wait_for_exit', opened), { exitCode: 127 });
  assert.match((await requests.ask('output', opened)).output, /ENOENT/);
  await requests.ask('release', opened);
  await requests.close();
});

/** A turn whose command puts out text. */
class Running {
  readonly server = new FakeServer();
  #seq = 1;

  async start() {
    this.server.answers = {
      '_strata/session/info': () => ({ epoch: 'e', seq: 1 }),
      '_strata/session/attach': () => ({ epoch: 'e', seq: this.#seq, running: null, complete: true }),
      'session/prompt': () => undefined,
    };
    const client = await this.server.connect();
    const turn = client.session('s').prompt('go', { promptId: 'p' });
    await settled();
    this.server.event(++this.#seq, 'turn_started', { turnId: 't', promptId: 'p' });
    this.update({ sessionUpdate: 'tool_call', title: 'run_command', status: 'pending' });
    return { client, turn };
  }

  update(update: object): void {
    this.server.update(++this.#seq, { sessionUpdate: 'tool_call_update', toolCallId: 'c', ...update });
  }

  output(text: string, end: number): void {
    this.update({ status: 'in_progress', title: 'make', content: [{ type: 'content', content: { type: 'text', text } }], _meta: { strata: { output: { end } } } });
  }

  finish(): void {
    this.server.event(++this.#seq, 'turn_finished', { turnId: 't' });
    const { id } = this.server.heard.find(({ method }) => method === 'session/prompt')!;
    this.server.send({ jsonrpc: '2.0', id, result: { stopReason: 'end_turn', _meta: { strata: { turnId: 't' } } } });
  }
}

const textIn = (update: Update): string => {
  const [part] = (update as ToolCallUpdate).content ?? [];
  return part?.type === 'content' && part.content.type === 'text' ? part.content.text : '';
};

test('the output of a command arrives while it runs, and its newest state replaces the ones before', async () => {
  const running = new Running();
  const { client, turn } = await running.start();
  const updates = turn[Symbol.asyncIterator]();
  const { pending } = await ready(updates);
  running.output('one\n', 4);
  const first = (await pending!).value as ToolCallUpdate;
  assert.deepEqual([textIn(first), first._meta?.strata.output], ['one\n', { end: 4 }]);

  for (let line = 2; line <= 5_000; line++) running.output(`line ${line}`, 4 + line * 9);
  const { values } = await ready(updates);
  assert.deepEqual(values.map(textIn), ['line 5000']);
  running.update({ status: 'completed', content: [{ type: 'content', content: { type: 'text', text: 'Exit code 0' } }] });
  running.finish();
  const [call] = await turn.calls();
  assert.deepEqual([call!.status, call!.title, textIn(call as never)], ['completed', 'make', 'Exit code 0']);
  await client.close();
});

test('an update that says something else is not replaced by output', async () => {
  const running = new Running();
  const { client, turn } = await running.start();
  const updates = turn[Symbol.asyncIterator]();
  running.output('one', 3);
  running.update({ status: 'in_progress', title: 'make', locations: [] });
  running.output('two', 6);
  running.update({ status: 'in_progress', title: 'make', rawInput: {}, content: [], _meta: { strata: { output: { end: 7 } } } });
  running.output('three', 12);
  await settled();
  const { values } = await ready(updates);
  assert.deepEqual(values.slice(1).map(textIn), ['one', '', '', 'three']);
  await client.close();
});

test('the calls of a turn can put out more than is kept', async () => {
  const running = new Running();
  const { client, turn } = await running.start();
  const megabyte = 'x'.repeat(1 << 20);
  for (let n = 1; n <= 40; n++) running.output(megabyte + n, n << 20);
  running.update({ status: 'completed', content: [] });
  running.finish();
  assert.equal((await turn.calls()).length, 1);
  await client.close();
});

test('a slow watcher of a command receives its newest output', async () => {
  const running = new Running();
  const { client } = await running.start();
  const watching = client.session('s').watch({ after: { epoch: 'e', seq: 3 } });
  await settled();
  const megabyte = 'x'.repeat(1 << 20);
  for (let n = 1; n <= 40; n++) running.output(megabyte + n, n << 20);
  const { values } = await ready(watching);
  const texts = values.map((event) => (event.type === 'update' ? textIn(event.update).length : event.type));
  assert.deepEqual(texts.slice(-1), [megabyte.length + 2]);
  assert.ok(!texts.includes('snapshot'));
  await client.close();
});
