import assert from 'node:assert/strict';
import { connect, type Client, type ConnectOptions, type Socket } from '../src/index.js';

type Handler = ((event: any) => void) | null;
type Respond = (params: any) => unknown;

/** A server in this process that sends any frames, valid or not. */
export class FakeServer {
  readonly problems: Error[] = [];
  /** The received requests and notifications, as `method params`. */
  readonly heard: { method: string; params: any; id?: number }[] = [];
  answers: Record<string, Respond> = {};
  sockets: FakeSocket[] = [];

  get socket(): FakeSocket {
    return this.sockets.at(-1)!;
  }

  connect(options: ConnectOptions = {}): Promise<Client> {
    const server = this;
    class ConnectedSocket extends FakeSocket {
      constructor(_url: string, _protocols?: string | string[]) {
        super(server);
      }
    }
    return connect({
      url: 'ws://fake',
      WebSocket: ConnectedSocket,
      backoff: { first: 1, most: 2 },
      onProblem: (problem) => this.problems.push(problem),
      ...options,
    });
  }

  /** Sends a frame; a string is sent unchanged. */
  send(frame: unknown): void {
    this.socket.onmessage?.({ data: typeof frame === 'string' || frame instanceof Uint8Array ? frame : JSON.stringify(frame) });
  }

  notify(method: string, params: unknown): void {
    this.send({ jsonrpc: '2.0', method, params });
  }

  update(seq: number, update: unknown, first?: number): void {
    this.notify('session/update', { sessionId: 's', update, _meta: { strata: { epoch: 'e', seq, ...(first ? { first } : {}) } } });
  }

  text(seq: number, text: string, first?: number): void {
    this.update(seq, { sessionUpdate: 'agent_message_chunk', messageId: 'm', content: { type: 'text', text } }, first);
  }

  event(seq: number, type: string, more: object = {}): void {
    this.notify('_strata/event', { sessionId: 's', epoch: 'e', seq, type, ...more });
  }

  took(socket: FakeSocket, frame: any): void {
    this.heard.push(frame);
    if (frame.id === undefined || frame.method === undefined) return;
    const answer = this.answers[frame.method];
    const result = frame.method === 'initialize' && !answer ? initialized : answer ? answer(frame.params) : {};
    if (result === undefined) return; // it responds later, or never
    socket.onmessage?.({ data: JSON.stringify({ jsonrpc: '2.0', id: frame.id, ...(result instanceof Failure ? { error: result } : { result }) }) });
  }

  count(method: string): number {
    return this.heard.filter((frame) => frame.method === method).length;
  }
}

export class Failure {
  constructor(
    readonly code: number,
    readonly message: string,
  ) {}
}

const initialized = {
  protocolVersion: 1,
  agentCapabilities: { _meta: { strata: { version: '0', methods: [], notifications: [] } } },
};

export const snapshot = (text = '') => ({
  session: { sessionId: 's', cwd: '/', updatedAt: '' },
  config: {},
  totals: { calls: 0, usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, cost: 0 },
  messages: text ? [{ id: 'm', seq: 1, role: 'assistant', blocks: [{ type: 'text', text }], tokens: 1, at: '', inView: true }] : [],
});

export class FakeSocket implements Socket {
  onopen: Handler = null;
  onmessage: Handler = null;
  onerror: Handler = null;
  onclose: Handler = null;

  constructor(private readonly server: FakeServer) {
    server.sockets.push(this);
    setImmediate(() => this.onopen?.({}));
  }

  send(data: string): void {
    setImmediate(() => this.server.took(this, JSON.parse(data)));
  }

  close(): void {
    setImmediate(() => this.lose());
  }

  lose(): void {
    this.onclose?.({ code: 1006, reason: '' });
    this.onmessage = this.onclose = null;
  }
}

/** Runs everything that needs no timer. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Returns the items that an iterator has ready, without waiting for more. */
export async function ready<T>(iterator: AsyncIterator<T>): Promise<{ values: T[]; done: boolean; pending: Promise<IteratorResult<T>> | null }> {
  const values: T[] = [];
  for (;;) {
    const pending = iterator.next();
    const result = await Promise.race([pending, settled().then(() => null)]);
    if (result === null) return { values, done: false, pending };
    if (result.done) return { values, done: true, pending: null };
    values.push(result.value);
    assert.ok(values.length < 100_000);
  }
}
