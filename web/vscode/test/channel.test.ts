import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionLost, RpcError, type Client, type SessionEvent } from '../../client/src/index.ts';
import { MAX_RUNNING, Served } from '../src/channel/host.ts';
import type { FromView, ToView } from '../src/channel/messages.ts';
import { RemoteClient } from '../src/channel/remote.ts';

/** A view and the extension host around it, with messages as copies, like those of an editor. */
class Pair {
  readonly sent: FromView[] = [];
  readonly served: Served;
  #take: (message: ToView) => void = () => {};

  constructor(readonly client: Partial<Client>) {
    this.served = new Served(() => client as Client, (message) => this.tell(message));
  }

  tell(message: ToView): void {
    const copy = structuredClone(message);
    queueMicrotask(() => this.#take(copy));
  }

  async view(): Promise<Client> {
    const connected = RemoteClient.connect(
      {
        post: (message) => {
          const copy = structuredClone(message);
          this.sent.push(copy);
          queueMicrotask(() => this.served.take(copy));
        },
        onMessage: (take) => (this.#take = take),
      },
      {},
    );
    this.tell({ type: 'connection', state: { kind: 'open' }, agent: {} as never });
    return connected;
  }
}

/** The events with these numbers. */
async function* events(...numbers: number[]): AsyncIterableIterator<SessionEvent> {
  for (const seq of numbers) yield { type: 'update', seq, epoch: 'e', update: {} } as unknown as SessionEvent;
}

const watching = (source: AsyncIterableIterator<SessionEvent>): Partial<Client> => ({ session: (id) => ({ id, watch: () => source }) as never });

test('calls return their results and errors, in their classes', async () => {
  const failures = [new RpcError(-32010, 'a turn is running', { turnId: 't' }), new ConnectionLost('gone')];
  const pair = new Pair({ call: ((method: string) => (method === 'session/list' ? Promise.resolve({ sessions: [] }) : Promise.reject(failures.shift()))) as Client['call'] });
  const view = await pair.view();
  assert.deepEqual(await view.call('session/list', {}), { sessions: [] });
  await assert.rejects(view.call('session/close', { sessionId: 's' }), (error) => error instanceof RpcError && error.code === -32010 && (error.data as { turnId: string }).turnId === 't');
  await assert.rejects(view.call('session/close', { sessionId: 's' }), ConnectionLost);
});

test('aborting a call aborts it in the extension host', async () => {
  let aborted = (): void => {};
  const isAborted = new Promise<void>((resolve) => (aborted = resolve));
  const pair = new Pair({ call: ((_method: string, _params: unknown, { signal }: { signal: AbortSignal }) => new Promise(() => signal.addEventListener('abort', aborted))) as unknown as Client['call'] });
  const view = await pair.view();
  const abort = new AbortController();
  const call = view.call('session/list', {}, { signal: abort.signal });
  abort.abort();
  await assert.rejects(call, { name: 'AbortError' });
  await isAborted;
});

test('a stream has every item once and in order, and ends', async () => {
  const numbers = Array.from({ length: 1000 }, (_, i) => i);
  const view = await new Pair(watching(events(...numbers))).view();
  const seen: number[] = [];
  for await (const event of view.session('s').watch()) seen.push(event.seq);
  assert.deepEqual(seen, numbers);
});

test('a stream waits for its view', async () => {
  let taken = 0;
  async function* counted(): AsyncIterableIterator<SessionEvent> {
    for await (const event of events(...Array.from({ length: 10_000 }, (_, i) => i))) {
      taken++;
      yield event;
    }
  }
  const view = await new Pair(watching(counted())).view();
  const stream = view.session('s').watch();
  await stream.next();
  await new Promise(setImmediate);
  assert.ok(taken < 1000, `${taken} events were taken for a view that took one`);
});

test('a view that leaves a stream ends it', async () => {
  let left = (): void => {};
  const isLeft = new Promise<void>((resolve) => (left = resolve));
  const client: Partial<Client> = { session: (id) => ({ id, watch: ({ signal }: { signal: AbortSignal }) => (signal.addEventListener('abort', left), events(1, 2, 3)) }) as never };
  const view = await new Pair(client).view();
  for await (const event of view.session('s').watch()) if (event.seq === 1) break;
  await isLeft;
});

test('the error of a stream ends it', async () => {
  async function* failing(): AsyncIterableIterator<SessionEvent> {
    yield* events(1);
    throw new RpcError(-32002, 'no such session');
  }
  const view = await new Pair(watching(failing())).view();
  const stream = view.session('s').watch();
  assert.equal((await stream.next()).value.seq, 1);
  await assert.rejects(stream.next(), (error) => error instanceof RpcError && error.code === -32002);
  assert.equal((await stream.next()).done, true);
});

test('a prompt outlives its view', async () => {
  let ended = (): void => {};
  let cancelled = false;
  const result = new Promise((resolve) => (ended = () => resolve({ stopReason: 'end_turn' })));
  const pair = new Pair({ session: (id) => ({ id, cancel: () => (cancelled = true), prompt: () => ({ promptId: 'p', result, text: () => Promise.resolve('') }) }) as never });
  const view = await pair.view();
  void view.session('s').prompt('hello').result.catch(() => {});
  pair.served.clear();
  ended();
  await result;
  assert.equal(cancelled, false);
});

test('a question gets the answer of the view', async () => {
  const pair = new Pair({});
  const view = await pair.view();
  view.serve('session/request_permission', async ({ options }) => ({ outcome: { outcome: 'selected', optionId: options[0]!.optionId } }));
  pair.tell({ type: 'ask', question: 7, params: { sessionId: 's', toolCall: { toolCallId: 'c' }, options: [{ optionId: 'allow', kind: 'allow_once', name: 'Allow' }] } as never });
  await new Promise(setImmediate);
  assert.deepEqual(pair.sent.at(-1), { type: 'answer', question: 7, result: { outcome: { outcome: 'selected', optionId: 'allow' } } });
});

test('a view that is closed leaves nothing behind', async () => {
  let watched = 0;
  async function* endless(signal: AbortSignal): AsyncIterableIterator<SessionEvent> {
    watched++;
    try {
      yield* events(1);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    } finally {
      watched--;
    }
  }
  const client: Partial<Client> = {
    call: ((_method: string, _params: unknown, { signal }: { signal: AbortSignal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))) as unknown as Client['call'],
    session: (id) => ({ id, watch: ({ signal }: { signal: AbortSignal }) => endless(signal) }) as never,
  };
  for (let round = 0; round < 50; round++) {
    const pair = new Pair(client);
    const view = await pair.view();
    const streams = [view.session('s').watch(), view.session('t').watch()];
    await Promise.all(streams.map((stream) => stream.next()));
    view.call('session/list', {}).catch(() => {});
    await new Promise(setImmediate);
    assert.equal(pair.served.running, 3);
    assert.equal(watched, 2);
    pair.served.clear();
    await new Promise(setImmediate);
    assert.equal(pair.served.running, 0);
    assert.equal(watched, 0);
  }
});

test('a view that asks for too much is refused, and can ask again later', async () => {
  const pair = new Pair({ call: (() => new Promise(() => {})) as unknown as Client['call'] });
  const view = await pair.view();
  const abort = new AbortController();
  const calls = Array.from({ length: MAX_RUNNING }, () => view.call('session/list', {}, { signal: abort.signal }).catch(() => {}));
  await assert.rejects(view.call('session/list', {}), { name: 'LimitExceeded' });
  await assert.rejects(view.session('s').watch().next(), { name: 'LimitExceeded' });
  assert.equal(pair.served.running, MAX_RUNNING);
  abort.abort();
  await Promise.all(calls);
  await new Promise(setImmediate);
  assert.equal(pair.served.running, 0);
});
