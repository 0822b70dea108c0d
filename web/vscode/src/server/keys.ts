import * as vscode from 'vscode';
import { ErrorCode, RpcError, type Client, type SessionEvent } from '@strata/client';
import { warn } from '../notices.js';
import { isPrivate } from './address.js';
import type { Connection } from './connection.js';

/** The name of the secret: all keys as JSON, by the server for which the user gave them and the provider. */
const NAME = 'strata.keys';

type Stored = Record<string, Record<string, string>>;

/** A key as the server accepts it. */
const KEY = /^[\x21-\x7e]{1,4096}$/;

/**
 * The API keys of providers. The editor stores them with its secrets. A server gets those that the user gave for it, as often
 * as it is connected without them: it keeps keys in memory only.
 */
export class Keys implements vscode.Disposable {
  readonly #secrets: vscode.SecretStorage;
  readonly #connection: Connection;
  readonly #subscription: vscode.Disposable;
  #isOpen = false;

  constructor(secrets: vscode.SecretStorage, connection: Connection) {
    this.#secrets = secrets;
    this.#connection = connection;
    this.#subscription = vscode.Disposable.from(
      connection.onDidReplace((client) => client && void this.#send(client)),
      connection.onDidChange(() => this.#changed()),
    );
  }

  readonly table = {
    setKey: (provider?: unknown) => this.#set(typeof provider === 'string' ? provider : undefined),
    removeKey: () => this.#remove(),
  };

  dispose(): void {
    this.#subscription.dispose();
  }

  /** Notifies of a key that a provider has refused in a turn. */
  received(event: SessionEvent): void {
    if (event.type !== 'event' || event.event.type !== 'turn_finished') return;
    const { error } = event.event;
    if (error?.code === ErrorCode.provider && error.data?.kind === 'auth') void this.#refused(error.data.provider);
  }

  /** The client has reconnected, possibly to a server that was restarted. */
  #changed(): void {
    const { state, client } = this.#connection;
    const wasOpen = this.#isOpen;
    this.#isOpen = state.kind === 'open';
    if (this.#isOpen && !wasOpen && client) void this.#send(client);
  }

  /** Sends the stored keys of the providers for which nobody has set a key since the server started. */
  async #send(client: Client): Promise<void> {
    const { server, url } = this.#connection;
    try {
      const keys = (await this.#read())[server] ?? {};
      if (Object.keys(keys).length === 0 || !isPrivate(url)) return;
      const { providers } = await client.call('_strata/providers/list', {});
      for (const { name, key } of providers) {
        const stored = Object.hasOwn(keys, name) ? keys[name] : undefined;
        if (stored === undefined || key === 'memory' || key === 'not_needed') continue;
        await client.call('_strata/providers/set_key', { provider: name, key: stored }).catch((error: unknown) => {
          if (!(error instanceof RpcError)) throw error;
          void this.#refused(name);
        });
      }
    } catch {
      // the connection was lost: the keys are sent when it is back
    }
  }

  async #refused(provider: string | undefined): Promise<void> {
    const set = vscode.l10n.t('Set Key');
    const chosen = await warn(vscode.l10n.t('{0} does not accept the API key.', provider ?? vscode.l10n.t('The provider')), set);
    if (chosen === set) await vscode.commands.executeCommand('strata.setKey', provider);
  }

  /** Asks for the key of a provider, sends it to the server and stores it. */
  async #set(name: string | undefined): Promise<void> {
    const client = this.#connection.required();
    const { server, url } = this.#connection;
    if (!isPrivate(url)) throw new Error(vscode.l10n.t('keys are sent only to a server of this machine or to an address with wss://'));
    const { providers } = await client.call('_strata/providers/list', {});
    const provider = name !== undefined && providers.some((known) => known.name === name) ? name : await this.#choose(providers.filter(({ key }) => key !== 'not_needed').map((known) => known.name));
    if (provider === undefined) return;
    const key = await vscode.window.showInputBox({
      title: vscode.l10n.t('Key for {0}', provider),
      prompt: vscode.l10n.t('The editor stores it with its secrets, and sends it to the server when it connects.'),
      password: true,
      ignoreFocusOut: true,
      validateInput: (text) => (KEY.test(text.trim()) ? null : vscode.l10n.t('A key has 1 to 4,096 printable ASCII characters without spaces.')),
    });
    if (key === undefined) return;
    await client.call('_strata/providers/set_key', { provider, key: key.trim() });
    await this.#store(server, provider, key.trim());
  }

  /** Removes a stored key, also from the server if there is a connection. */
  async #remove(): Promise<void> {
    const { server, client } = this.#connection;
    const stored = Object.keys((await this.#read())[server] ?? {});
    if (stored.length === 0) throw new Error(vscode.l10n.t('no key is stored for this server'));
    const provider = await this.#choose(stored);
    if (provider === undefined) return;
    await this.#store(server, provider, undefined);
    if (this.#isOpen) await client?.call('_strata/providers/set_key', { provider, key: '' });
  }

  async #choose(names: string[]): Promise<string | undefined> {
    return vscode.window.showQuickPick(names, { title: vscode.l10n.t('Provider of the key') });
  }

  /** Returns the stored keys; none if the secret is damaged. */
  async #read(): Promise<Stored> {
    return parse((await this.#secrets.get(NAME)) ?? '{}');
  }

  async #store(server: string, provider: string, key: string | undefined): Promise<void> {
    const { [provider]: _, ...others } = (await this.#read())[server] ?? {};
    const stored: Stored = { ...(await this.#read()), [server]: key === undefined ? others : { ...others, [provider]: key } };
    await this.#secrets.store(NAME, JSON.stringify(stored));
  }
}

function parse(text: string): Stored {
  try {
    const stored: unknown = JSON.parse(text);
    const entries = isObject(stored) ? Object.entries(stored) : [];
    return Object.fromEntries(entries.flatMap(([server, keys]) => (isObject(keys) && Object.values(keys).every((key) => typeof key === 'string') ? [[server, keys as Record<string, string>]] : [])));
  } catch {
    return {};
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value);
