import * as vscode from 'vscode';
import type { BudgetState, Client, Overview, Spent } from '@strata/client';
import { warn } from './notices.js';
import { Refresh } from './refresh.js';
import type { SessionList } from './sessions/list.js';

/** What all sessions have cost today, and the budgets of the configuration. */
export class Spending implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #refresh = new Refresh(() => this.#read());
  readonly #subscriptions: vscode.Disposable[];
  #client: Client | undefined;
  #today: Spent | undefined;
  #budgets: readonly BudgetState[] = [];

  readonly onDidChange = this.#changed.event;

  constructor(list: SessionList) {
    this.#subscriptions = [
      list.onDidEndTurn(() => this.#refresh.request()),
      list.onDidReachBudget(({ text }) => {
        this.#refresh.request();
        void warn(text);
      }),
    ];
  }

  /** The calls of today, in the time zone of this machine; undefined if the server does not report them. */
  get today(): Spent | undefined {
    return this.#today;
  }

  /** The budgets that are nearly used or exceeded. */
  get warnings(): BudgetState[] {
    return this.#budgets.filter(({ state }) => state !== 'ok');
  }

  /** Follows a client, in place of an earlier one. */
  follow(client: Client | undefined): void {
    this.#client = client;
    this.#refresh.request();
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
    this.#changed.dispose();
  }

  async #read(): Promise<void> {
    const overview = await overviewOf(this.#client);
    this.#today = overview?.totals;
    this.#budgets = overview?.budgets ?? [];
    this.#changed.fire();
  }
}

/** Returns the calls of today; undefined if the server is an older one, or the connection was lost. */
async function overviewOf(client: Client | undefined): Promise<Overview | undefined> {
  try {
    return await client?.call('_strata/usage/overview', { days: 1, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone });
  } catch {
    return undefined;
  }
}
