import * as vscode from 'vscode';
import { connect, ConnectionLost, ConnectionRefused, type Client, type ConnectionState, type Endpoint, type RefusalReason, type RequestHandlers } from '@strata/client';
import { Unusable, type Lack, type Platform } from '../platform.js';
import { settings } from '../settings.js';
import { VERSION } from '../version.js';
import { addressOf } from './address.js';
import type { Tokens } from './token.js';

/** Why there is no connection, for the views: each has a text and remedies of its own. "" if the client is trying. */
export type Problem = '' | Lack | RefusalReason;

/** The code with which a server that was stopped closes its connections. */
const STOPPED = 1001;

/** The server of this machine, as secrets name it. Its address differs from start to start. */
const LOCAL = 'local';

/**
 * The only connection of this window. The client library reconnects; `reconnect` replaces the client, after a refusal or if
 * settings have changed.
 */
export class Connection implements vscode.Disposable {
  readonly #platform: Platform;
  readonly #tokens: Tokens;
  readonly #handlers: RequestHandlers;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #replaced = new vscode.EventEmitter<Client | undefined>();
  readonly #tokenChanged: vscode.Disposable;
  #client: Client | undefined;
  #state: ConnectionState = { kind: 'connecting', attempt: 1 };
  #problem: Problem = '';
  #isStarting = false;
  #server = LOCAL;
  /** Where the current or last attempt went. */
  #url = '';
  /** Why no server could be started. Until `reconnect`, servers are only looked for. */
  #failure: Unusable | undefined;
  /** Whether the user has stopped the server of this machine. Until `reconnect`, servers are only looked for. */
  #isStopped = false;
  #abort = new AbortController();

  /** The state has changed. */
  readonly onDidChange = this.#changed.event;
  /** There is another client, or none. */
  readonly onDidReplace = this.#replaced.event;

  constructor(platform: Platform, tokens: Tokens, handlers: RequestHandlers) {
    this.#platform = platform;
    this.#tokens = tokens;
    this.#handlers = handlers;
    this.#tokenChanged = tokens.onDidChange((address) => {
      if (address === this.address && this.#state.kind === 'closed') void this.reconnect();
    });
  }

  /** The client, undefined until there was a first connection. */
  get client(): Client | undefined {
    return this.#client;
  }

  /** Returns the client. Without one, it throws why. */
  required(): Client {
    if (this.#client) return this.#client;
    throw new Error('reason' in this.#state && this.#state.reason ? this.#state.reason : vscode.l10n.t('not connected yet'));
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get problem(): Problem {
    return this.#problem;
  }

  /** Whether a server of this machine is starting. */
  get isStarting(): boolean {
    return this.#isStarting;
  }

  /** The URL of the current server, "" before the first attempt. */
  get url(): string {
    return this.#url;
  }

  /** The address in the setting `strata.server.url`, undefined if it has none. */
  get address(): string | undefined {
    return addressOf(settings.url);
  }

  /** The name under which secrets of the current server are stored: its address, or `local`. */
  get server(): string {
    return this.#server;
  }

  /** Connects, in place of an earlier connection. It resolves when there is a connection, or none is possible. */
  async reconnect(): Promise<void> {
    this.#abort.abort();
    const abort = (this.#abort = new AbortController());
    this.#failure = undefined;
    this.#isStopped = false;
    this.#problem = '';
    const previous = this.#client;
    this.#replace(undefined);
    this.#report({ kind: 'connecting', attempt: 1 });
    try {
      await previous?.close();
      const client = await connect({
        find: await this.#finder(abort.signal),
        clientInfo: { name: 'strata-vscode', version: VERSION },
        handlers: this.#handlers,
        ...(this.#platform.WebSocket ? { WebSocket: this.#platform.WebSocket } : {}),
        signal: abort.signal,
        onState: (state) => {
          if (!abort.signal.aborted) this.#report(state);
        },
      });
      if (abort.signal.aborted) return void client.close();
      this.#replace(client);
    } catch (thrown) {
      if (abort.signal.aborted) return;
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      this.#report({ kind: 'closed', reason: error.message, error });
    }
  }

  retryNow(): void {
    if (this.#client && this.#state.kind !== 'closed') this.#client.retryNow();
    else void this.reconnect();
  }

  dispose(): void {
    this.#abort.abort();
    this.#tokenChanged.dispose();
    void this.#client?.close();
    this.#changed.dispose();
    this.#replaced.dispose();
  }

  /** Returns the function that is called for the endpoint before each attempt. It throws if the settings allow no attempt. */
  async #finder(signal: AbortSignal): Promise<() => Endpoint | Promise<Endpoint>> {
    const url = this.address;
    this.#server = url ?? LOCAL;
    if (settings.url === '') {
      const find = this.#platform.find;
      if (find) return () => this.#findLocal(find, signal);
      throw new Unusable('noAddress', vscode.l10n.t('Set the address of the server'));
    }
    if (url === undefined) throw new Unusable('badAddress', vscode.l10n.t('{0} in the setting strata.server.url is not the address of a server', settings.url));
    const token = await this.#tokens.read(url);
    signal.throwIfAborted(); // the address is that of a newer attempt
    if (token === '') throw new Unusable('noToken', vscode.l10n.t('Set the token of the server at {0}', url));
    this.#url = url;
    return () => ({ url, token });
  }

  async #findLocal(find: NonNullable<Platform['find']>, signal: AbortSignal): Promise<Endpoint> {
    try {
      const found = await find({ start: settings.start && !this.#failure && !this.#isStopped, onStart: () => this.#starting(signal), signal });
      signal.throwIfAborted();
      this.#url = found.url;
      return found;
    } catch (error) {
      if (signal.aborted) throw error;
      if (!(error instanceof Unusable)) throw this.#failure ?? error;
      if (error.lack !== 'notRunning') this.#failure = error;
      throw this.#failure ?? (this.#isStopped && settings.start ? new Unusable('stopped', error.message) : error);
    }
  }

  #starting(signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#isStarting = true;
    this.#tell();
  }

  #replace(client: Client | undefined): void {
    if (this.#client === client) return;
    this.#client = client;
    this.#replaced.fire(client);
  }

  #report(state: ConnectionState): void {
    this.#state = state;
    this.#isStarting = false;
    if (state.kind === 'open') {
      this.#failure = undefined;
      this.#isStopped = false;
    }
    if (state.kind === 'waiting' && state.error instanceof ConnectionLost) this.#isStopped = state.error.code === STOPPED;
    if (state.kind !== 'connecting') this.#problem = 'error' in state ? problemOf(state.error) : '';
    this.#tell();
  }

  #tell(): void {
    void vscode.commands.executeCommand('setContext', 'strata.connection', this.#problem || (this.#isStarting ? 'starting' : this.#state.kind));
    this.#changed.fire();
  }
}

function problemOf(error: Error): Problem {
  if (error instanceof Unusable) return error.lack;
  return error instanceof ConnectionRefused ? error.reason : '';
}
