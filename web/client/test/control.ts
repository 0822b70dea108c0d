import assert from 'node:assert/strict';
import { after } from 'node:test';
import { connect, type Client, type ConnectOptions, type SessionEvent, type SessionHandle, type Turn, type Update } from '../src/index.js';

// Controls the environment of the Go test: a real server, a scripted model, and a proxy that can cut connections.

const CONTROL = process.env.STRATA_TEST_CONTROL!;

async function command<T>(name: string, params: unknown = null): Promise<T> {
  const response = await fetch(`${CONTROL}/${name}`, { method: 'POST', body: JSON.stringify(params) });
  assert.equal(response.status, 200);
  return (await response.json()) as T;
}

export interface World {
  /** The address of the proxy, which leads to the running server. */
  proxy: string;
  project: string;
  server: { url: string; token: string; pid: number; database: string };
}

export const world = () => command<World>('world');

export interface Step {
  text?: string;
  thought?: string;
  gate?: string;
  times?: number;
}

/** Scripts the model's reply to the next request. */
export const script = (...steps: Step[]) => command<null>('script', { steps });
export const open = (gate: string) => command<null>('open', gate);
/** The number of requests to the model. */
export const asked = () => command<number>('asked');
/** Cuts all connections and returns their number. */
export const cut = () => command<number>('cut');
export const refuse = () => command<null>('refuse');
export const accept = () => command<null>('accept');
export const kill = () => command<null>('kill');
export const stop = () => command<null>('stop');
export const restart = () => command<null>('restart');

const clients: Client[] = [];

after(async () => {
  for (const client of clients) await client.close();
});

/** Connects through the proxy, with short delays between attempts. */
export async function connected(options: ConnectOptions = {}): Promise<Client> {
  const { proxy, server } = await world();
  const client = await connect({
    url: proxy,
    token: server.token,
    backoff: { first: 5, most: 50 },
    onProblem: (problem) => assert.fail(`the server was misunderstood: ${problem}`),
    ...options,
  });
  clients.push(client);
  return client;
}

export async function session(client: Client): Promise<SessionHandle> {
  return client.newSession({ cwd: (await world()).project });
}

/** Waits for a state of the connection. */
export function state(client: Client, kind: string): Promise<void> {
  return new Promise((resolve) => {
    if (client.state.kind === kind) return resolve();
    const forget = client.onState((now) => {
      if (now.kind !== kind) return;
      forget();
      resolve();
    });
  });
}

/** The reply text in an update. */
export function textOf(update: Update): string {
  return update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text' ? update.content.text : '';
}

/** Reads events up to and including the first match. */
export async function until(
  events: AsyncIterator<SessionEvent>,
  wanted: (event: SessionEvent) => boolean,
): Promise<SessionEvent[]> {
  const read: SessionEvent[] = [];
  for (;;) {
    const { value, done } = await events.next();
    assert.ok(!done, `the events ended before the one that was wanted; they were ${JSON.stringify(read)}`);
    read.push(value);
    if (wanted(value)) return read;
  }
}

export const isEvent = (type: string) => (event: SessionEvent) => event.type === 'event' && event.event.type === type;

/** The replies as seen by a watcher: stored and running text from snapshots, and chunks from updates. */
export function answersIn(events: SessionEvent[]): string {
  let text = '';
  for (const event of events) {
    if (event.type === 'update') text += textOf(event.update);
    if (event.type !== 'snapshot') continue;
    text = event.snapshot.messages
      .filter((message) => message.role === 'assistant')
      .flatMap((message) => message.blocks.map((block) => (block.type === 'text' ? (block.text ?? '') : '')))
      .join('');
    text += event.snapshot.running?.text ?? '';
  }
  return text;
}

/** Checks that no event is missing or repeated: each directly follows the previous one. */
export function assertInOrder(events: SessionEvent[]): void {
  for (let i = 1; i < events.length; i++) {
    const [before, now] = [events[i - 1]!, events[i]!];
    if (now.type === 'snapshot' || before.epoch !== now.epoch) continue;
    assert.ok(now.seq > before.seq, `event ${now.seq} comes behind ${before.seq}`);
  }
}

/** Reads updates of a turn until the reply ends with this text. */
export async function read(updates: AsyncIterator<Update>, end: string): Promise<string> {
  let text = '';
  while (!text.endsWith(end)) {
    const { value, done } = await updates.next();
    assert.ok(!done, `the turn ended with the text ${text}`);
    text += textOf(value);
  }
  return text;
}

/** Starts a turn that runs until its gate is opened. */
export async function busy(s: SessionHandle, gate: string): Promise<Turn> {
  await script({ text: 'busy' }, { gate });
  const turn = s.prompt('Keep the server busy');
  await read(turn[Symbol.asyncIterator](), 'busy');
  return turn;
}
