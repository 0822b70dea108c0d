import type {
  CallOptions, Client, ConnectionState, ConnectOptions, ContentBlock, InitializeResult, Methods, NewSessionParams, PromptOptions, PromptResult,
  RequestHandler, ServerEvent, SessionEvent, SessionHandle, Turn, Update, WatchOptions,
} from '@strata/client';
import { received, receivedState } from './errors.js';
import type { FromView, Source, ToView } from './messages.js';

/** The channel of a view to the extension host. */
export interface Channel {
  post(message: FromView): void;
  onMessage(take: (message: ToView) => void): void;
}

/** The settling of a call, a prompt or a stream. */
interface Open {
  done: (message: ToView) => void;
}

/**
 * The client of a view: the interface of the client library, served by the client of the extension host. That one has the
 * connection and the token, so that a view needs neither, and a turn does not end with its view.
 */
export class RemoteClient implements Client {
  readonly #channel: Channel;
  readonly #open = new Map<number, Open>();
  readonly #listeners = new Set<(state: ConnectionState) => void>();
  readonly #questions = new Map<number, AbortController>();
  #permission: RequestHandler<'session/request_permission'> | undefined;
  #ids = 0;
  #agent: InitializeResult | undefined;
  #state: ConnectionState = { kind: 'connecting', attempt: 1 };

  /** Resolves when the extension host has a connection. */
  static connect(channel: Channel, { handlers, onState }: Pick<ConnectOptions, 'handlers' | 'onState'>): Promise<Client> {
    return new Promise((resolve) => {
      const client = new RemoteClient(channel, handlers?.permission);
      client.onState((state) => {
        onState?.(state);
        if (client.#agent) resolve(client);
      });
      channel.post({ type: 'ready' });
    });
  }

  private constructor(channel: Channel, permission: RequestHandler<'session/request_permission'> | undefined) {
    this.#channel = channel;
    this.#permission = permission;
    channel.onMessage((message) => this.#take(message));
  }

  get agent(): InitializeResult {
    if (!this.#agent) throw new Error('not connected');
    return this.#agent;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  onState(fn: (state: ConnectionState) => void): () => void {
    this.#listeners.add(fn);
    return () => this.#listeners.delete(fn);
  }

  retryNow(): void {
    this.#channel.post({ type: 'retryNow' });
  }

  call<M extends keyof Methods>(method: M, params: Methods[M]['params'], { signal }: CallOptions = {}): Promise<Methods[M]['result']> {
    return this.#request((id) => ({ type: 'call', id, method, params }), signal, (message) => (message as Extract<ToView, { type: 'result' }>).result as Methods[M]['result']);
  }

  /** Only questions are served by a view: files and terminals are the extension host's. */
  serve(method: unknown, handler: unknown): () => void {
    if (method !== 'session/request_permission') throw new Error(`${String(method)}: not served by a view`);
    this.#permission = handler as RequestHandler<'session/request_permission'>;
    return () => (this.#permission = undefined);
  }

  session(sessionId: string): SessionHandle {
    return {
      id: sessionId,
      watch: ({ signal, commands = false }: WatchOptions = {}) => this.#stream<SessionEvent>({ kind: 'watch', sessionId, commands }, signal),
      prompt: (content, options) => this.#prompt(sessionId, content, options),
      cancel: () => this.#channel.post({ type: 'cancel', sessionId }),
    };
  }

  async newSession(params: NewSessionParams): Promise<SessionHandle> {
    return this.session((await this.call('session/new', params)).sessionId);
  }

  serverEvents({ signal }: CallOptions = {}): AsyncIterableIterator<ServerEvent> {
    return this.#stream<ServerEvent>({ kind: 'serverEvents' }, signal);
  }

  close(): Promise<void> {
    return Promise.resolve(); // the connection is the extension host's
  }

  #take(message: ToView): void {
    switch (message.type) {
      case 'connection':
        this.#agent = message.agent ?? this.#agent;
        this.#state = receivedState(message.state);
        for (const fn of this.#listeners) fn(this.#state);
        return;
      case 'ask':
        return void this.#ask(message);
      case 'withdraw':
        return this.#questions.get(message.question)?.abort();
      case 'result':
      case 'error':
      case 'items':
      case 'end':
      case 'prompted':
        return this.#open.get(message.id)?.done(message);
    }
  }

  async #ask({ question, params }: Extract<ToView, { type: 'ask' }>): Promise<void> {
    if (!this.#permission || this.#questions.has(question)) return;
    const abort = new AbortController();
    this.#questions.set(question, abort);
    const result = await this.#permission(params, { signal: abort.signal });
    this.#questions.delete(question);
    if (!abort.signal.aborted) this.#channel.post({ type: 'answer', question, result });
  }

  /** Sends a message with a new id and resolves with what take makes of the answer. */
  #request<T>(message: (id: number) => FromView, signal: AbortSignal | undefined, take: (message: ToView) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const id = ++this.#ids;
      const settle = (): void => {
        this.#open.delete(id);
        signal?.removeEventListener('abort', abort);
      };
      const abort = (): void => {
        settle();
        this.#channel.post({ type: 'abort', id });
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', abort);
      this.#open.set(id, {
        done: (answer) => {
          settle();
          if (answer.type === 'error') reject(received(answer.error));
          else resolve(take(answer));
        },
      });
      this.#channel.post(message(id));
    });
  }

  #prompt(sessionId: string, content: string | ContentBlock[], { promptId = crypto.randomUUID(), meta, signal }: PromptOptions = {}): Turn {
    const blocks: ContentBlock[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    const cancel = (): void => this.#channel.post({ type: 'cancel', sessionId });
    signal?.addEventListener('abort', cancel, { once: true });
    const ended = this.#request(
      (id) => ({ type: 'prompt', id, sessionId, content: blocks, promptId, ...(meta === undefined ? {} : { meta }) }),
      undefined,
      (message) => message as Extract<ToView, { type: 'prompted' }>,
    );
    const turnResult = ended.then(({ result }) => result as PromptResult);
    turnResult.catch(() => {}); // a caller may want the text only
    return {
      promptId,
      result: turnResult,
      text: () => ended.then(({ text }) => text),
      calls: () => Promise.reject(new Error('a view watches the session for its calls')),
      cancel,
      [Symbol.asyncIterator]: () => none<Update>(ended),
    };
  }

  #stream<T>(source: Source, signal: AbortSignal | undefined): AsyncIterableIterator<T> {
    const id = ++this.#ids;
    const items: T[] = [];
    let ended: { error?: Error } | undefined = signal?.aborted ? {} : undefined;
    let wake = (): void => {};
    const end = (): void => {
      this.#open.delete(id);
      signal?.removeEventListener('abort', abort);
      wake();
    };
    const abort = (): void => {
      if (!ended) this.#channel.post({ type: 'abort', id });
      ended ??= {};
      items.length = 0;
      end();
    };
    if (!ended) {
      signal?.addEventListener('abort', abort);
      this.#open.set(id, {
        done: (message) => {
          if (message.type === 'items') items.push(...(message.items as T[]));
          if (message.type === 'end') {
            ended = message.error ? { error: received(message.error) } : {};
            end();
          }
          wake();
        },
      });
      this.#channel.post({ type: 'open', id, source });
    }
    const next = async (): Promise<IteratorResult<T>> => {
      for (;;) {
        const first = items.shift();
        if (first !== undefined) {
          if (items.length === 0 && !ended) this.#channel.post({ type: 'more', id });
          return { value: first, done: false };
        }
        if (ended?.error) {
          const { error } = ended;
          ended = {};
          throw error;
        }
        if (ended) return { value: undefined, done: true };
        await new Promise<void>((resolve) => (wake = resolve));
      }
    };
    return {
      next,
      return: () => {
        abort();
        return Promise.resolve({ value: undefined, done: true });
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }
}

/** A turn of a view has no updates of its own: the view watches the session. */
async function* none<T>(ended: Promise<unknown>): AsyncGenerator<T> {
  await ended;
}
