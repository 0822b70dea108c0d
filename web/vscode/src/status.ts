import * as vscode from 'vscode';
import type { Budget, BudgetState, Totals } from '@strata/client';
import { dollars, escaped, percent } from './format.js';
import type { Connection } from './server/connection.js';
import type { CurrentSession } from './sessions/current.js';
import type { Spending } from './spending.js';

/** Percentage of the window from which on the status bar warns. */
const NEARLY_FULL = 90;

/** The entry of the status bar: the state of the connection, or the use of the window and the cost of the current session. */
export class StatusBar implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem('strata.status', vscode.StatusBarAlignment.Right, 100);
  readonly #connection: Connection;
  readonly #current: CurrentSession;
  readonly #spending: Spending;
  readonly #subscriptions: vscode.Disposable[];

  constructor(connection: Connection, current: CurrentSession, spending: Spending) {
    this.#connection = connection;
    this.#current = current;
    this.#spending = spending;
    this.#item.name = 'Strata';
    this.#subscriptions = [connection.onDidChange, current.onDidChange, current.onDidChangeFigures, spending.onDidChange].map((changed) => changed(() => this.#draw()));
    this.#draw();
    this.#item.show();
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) subscription.dispose();
    this.#item.dispose();
  }

  #draw(): void {
    if (this.#connection.state.kind === 'open') this.#drawSession();
    else this.#drawConnection();
    this.#item.accessibilityInformation = { label: `Strata, ${this.#item.text.replace(/\$\([^)]*\)\s*/g, '')}`, role: 'button' };
  }

  #drawSession(): void {
    const { budget, totals } = this.#current;
    const { warnings } = this.#spending;
    this.#item.command = 'strata.openHud';
    this.#item.text = budget ? `$(layers) ${budget.percentUsed} %${totals ? ` · ${dollars(totals.cost)}` : ''}` : '$(layers) Strata';
    if (warnings.length > 0) this.#item.text += ' $(warning)';
    this.#item.tooltip = this.#tooltip(budget, totals, warnings);
    const warns = (budget !== undefined && budget.percentUsed >= NEARLY_FULL) || warnings.some(({ state }) => state === 'over');
    this.#item.backgroundColor = warns ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
  }

  #tooltip(budget: Budget | undefined, totals: Totals | undefined, warnings: readonly BudgetState[]): vscode.MarkdownString {
    const tooltip = new vscode.MarkdownString();
    const line = (text: string): void => void tooltip.appendMarkdown(`${escaped(text)}\n\n`);
    if (budget) line(vscode.l10n.t('Next request: {0} of {1} tokens ({2} %)', budget.used.toLocaleString(), budget.maxInputTokens.toLocaleString(), budget.percentUsed));
    if (budget?.warning) line(budget.warning);
    if (totals) {
      const { input, output, cacheRead, cacheWrite } = totals.usage;
      const sent = input + cacheRead + cacheWrite;
      line(vscode.l10n.t('Session: {0}, calls: {1}', dollars(totals.cost), totals.calls.toLocaleString()));
      line(vscode.l10n.t('{0} tokens in, {1} out, {2} of the input from the cache', sent.toLocaleString(), output.toLocaleString(), percent(sent > 0 ? cacheRead / sent : 0)));
    }
    const { today } = this.#spending;
    if (today) line(today.unpriced > 0 ? vscode.l10n.t('Today: {0}, calls of unknown price: {1}', dollars(today.cost), today.unpriced) : vscode.l10n.t('Today: {0}', dollars(today.cost)));
    for (const { name, state, spent, limit, per } of warnings) {
      const words = per === 'day' ? vscode.l10n.t('{0} of {1} a day', dollars(spent), dollars(limit)) : vscode.l10n.t('{0} of {1} a month', dollars(spent), dollars(limit));
      line(state === 'over' ? vscode.l10n.t('Budget {0} exceeded: {1}', name, words) : vscode.l10n.t('Budget {0} nearly used: {1}', name, words));
    }
    line(budget ? vscode.l10n.t('Click to open the HUD') : vscode.l10n.t('Connected. Click to open the HUD'));
    return tooltip;
  }

  #drawConnection(): void {
    const { state, problem, isStarting } = this.#connection;
    const isTrying = problem === '' && state.kind !== 'closed';
    this.#item.command = 'strata.fixConnection';
    this.#item.text = !isTrying ? '$(error) Strata' : state.kind === 'waiting' ? '$(debug-disconnect) Strata' : '$(sync~spin) Strata';
    this.#item.backgroundColor = isTrying ? undefined : new vscode.ThemeColor('statusBarItem.errorBackground');
    if (isStarting) this.#item.tooltip = vscode.l10n.t('Strata: starting the server');
    else if (state.kind === 'waiting') {
      this.#item.tooltip = vscode.l10n.t('Strata: not connected: {0}. The next attempt is at {1}.', state.reason, state.retryAt.toLocaleTimeString());
    } else this.#item.tooltip = state.kind === 'closed' ? vscode.l10n.t('Strata: not connected: {0}', state.reason) : vscode.l10n.t('Strata: connecting');
  }
}
