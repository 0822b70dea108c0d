import * as vscode from 'vscode';
import type { Connection } from './server/connection.js';
import type { CurrentSession } from './sessions/current.js';

/** Percentage of the window from which on the status bar warns. */
const NEARLY_FULL = 90;

/** The entry of the status bar: the state of the connection, or the use of the window and the cost of the current session. */
export class StatusBar implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem('strata.status', vscode.StatusBarAlignment.Right, 100);
  readonly #connection: Connection;
  readonly #current: CurrentSession;
  readonly #subscriptions: vscode.Disposable[];

  constructor(connection: Connection, current: CurrentSession) {
    this.#connection = connection;
    this.#current = current;
    this.#item.name = 'Strata';
    this.#subscriptions = [connection.onDidChange(() => this.#draw()), current.onDidChange(() => this.#draw()), current.onDidChangeFigures(() => this.#draw())];
    this.#draw();
    this.#item.show();
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
    this.#item.dispose();
  }

  #draw(): void {
    const { state, problem, isStarting } = this.#connection;
    const { budget, totals } = this.#current;
    this.#item.backgroundColor = undefined;
    this.#item.command = 'strata.openHud';
    if (state.kind === 'open') {
      const percent = budget?.percentUsed;
      this.#item.text = percent === undefined ? '$(layers) Strata' : `$(layers) ${percent} %${totals ? ` · ${dollars(totals.cost)}` : ''}`;
      this.#item.tooltip = budget
        ? vscode.l10n.t('Strata: the next request has {0} of {1} tokens. Open the HUD.', budget.used.toLocaleString(), budget.maxInputTokens.toLocaleString())
        : vscode.l10n.t('Strata: connected. Open the HUD.');
      if (percent !== undefined && percent >= NEARLY_FULL) this.#item.backgroundColor = new vscode.ThemeColor('statusBarItem.warningBackground');
      return;
    }
    this.#item.command = 'strata.fixConnection';
    const isTrying = problem === '' && state.kind !== 'closed';
    this.#item.text = isTrying ? '$(sync~spin) Strata' : '$(error) Strata';
    if (isStarting) this.#item.tooltip = vscode.l10n.t('Strata: starting the server');
    else this.#item.tooltip = 'reason' in state ? vscode.l10n.t('Strata: not connected: {0}', state.reason) : vscode.l10n.t('Strata: connecting');
    if (!isTrying) this.#item.backgroundColor = new vscode.ThemeColor('statusBarItem.errorBackground');
  }
}

const dollars = (cost: number): string => `$${cost.toFixed(cost > 0 && cost < 0.1 ? 4 : 2)}`;
