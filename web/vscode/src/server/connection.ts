import * as vscode from 'vscode';
import { connect, type Client, type ConnectionState, type Endpoint, type RequestHandlers } from '@strata/client';
import { NotInstalled, type Platform } from '../platform.js';
import { settings } from '../settings.js';
import type { Token } from './token.js';

/** Why there is no connection, for the views: each has a text and a remedy of its own. */
export type Problem = '' | 'notInstalled' | 'refused' | 'noAddress';

/**
 * The only connection of this window. The client library reconnects; `reconnect` replaces the client, after a refusal or if
 * settings have changed.
 */
export class Connection implements vscode.Disposable {
  readonly #platform: Platform;
  readonly #token: Token;
  readonly #handlers: RequestHandlers;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #replaced = new vscode.EventEmitter<Client | undefined>();
  #client: Client | undefined;
  #state: ConnectionState = { kind: 'connecting', attempt: 1 };
  #problem: Problem = '';
  #abort = new AbortController();

  /** The state has changed. */
  readonly onDidChange = this.#changed.event;
  /** There is another client, or none. */
  readonly onDidReplace = this.#replaced.event;

  constructor(platform: Platform, token: Token, handlers: RequestHandlers) {
    this.#platform = platform;
    this.#token = token;
    this.#handlers = handlers;
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

  /** Connects, in place of an earlier connection. It resolves when there is a connection, or none is possible. */
  async reconnect(): Promise<void> {
    this.#abort.abort();
    const abort = (this.#abort = new AbortController());
    await this.#client?.close();
    this.#replace(undefined);
    this.#report({ kind: 'connecting', attempt: 1 });
    try {
      const client = await connect({
        find: () => this.#endpoint(),
        clientInfo: { name: 'strata-vscode', version: '0.1.0' },
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
      this.#problem ||= 'refused';
      this.#report({ kind: 'closed', reason: error.message, error });
    }
  }

  retryNow(): void {
    if (this.#client) this.#client.retryNow();
    else void this.reconnect();
  }

  dispose(): void {
    this.#abort.abort();
    void this.#client?.close();
    this.#changed.dispose();
    this.#replaced.dispose();
  }

  /** Returns where the server is. It is called before each attempt. */
  async #endpoint(): Promise<Endpoint> {
    const { url } = settings;
    this.#problem = '';
    if (url !== '') {
      const token = await this.#token.read();
      return { url, ...(token === '' ? {} : { token }) };
    }
    if (!this.#platform.find) {
      this.#problem = 'noAddress';
      throw new Error(vscode.l10n.t('Set the address of the server'));
    }
    try {
      return await this.#platform.find();
    } catch (error) {
      if (error instanceof NotInstalled) this.#problem = 'notInstalled';
      throw error;
    }
  }

  #replace(client: Client | undefined): void {
    if (this.#client === client) return;
    this.#client = client;
    this.#replaced.fire(client);
  }

  #report(state: ConnectionState): void {
    this.#state = state;
    if (state.kind === 'open') this.#problem = '';
    void vscode.commands.executeCommand('setContext', 'strata.connection', this.#problem || state.kind);
    this.#changed.fire();
  }
}
