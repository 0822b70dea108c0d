import * as vscode from 'vscode';
import { warn } from '../notices.js';
import type { Connection, Problem } from './connection.js';

/** What the user can do about a problem. */
interface Remedy {
  title: string;
  command: string;
  args?: unknown[];
}

/** A problem in the user's words. */
interface Explanation {
  text: string;
  remedies: Remedy[];
  /** The user has not caused it by leaving something out: a notification tells it when it occurs. */
  isSudden?: boolean;
}

const setting = (name: string, title: string): Remedy => ({ title, command: 'workbench.action.openSettings', args: [name] });
const setToken = (): Remedy => ({ title: vscode.l10n.t('Set Token'), command: 'strata.setToken' });
const tryAgain = (): Remedy => ({ title: vscode.l10n.t('Try Again'), command: 'strata.reconnect' });
const setAddress = (): Remedy => setting('strata.server.url', vscode.l10n.t('Set Address'));
const install = (): Remedy => ({ title: vscode.l10n.t('How to Install'), command: 'strata.showInstallation' });

/** Returns the explanation of a problem; `reason` is the message of its error. */
function explain(problem: Exclude<Problem, ''>, url: string, reason: string): Explanation {
  switch (problem) {
    case 'notInstalled':
      return { text: vscode.l10n.t('The program strata was not found: {0}', reason), remedies: [install(), setting('strata.path', vscode.l10n.t('Set Path')), tryAgain()] };
    case 'notStarted':
      return { text: vscode.l10n.t('Strata does not start: {0}', reason), remedies: [tryAgain(), setting('strata.path', vscode.l10n.t('Set Path'))], isSudden: true };
    case 'notRunning':
      return { text: vscode.l10n.t('No server is running. Start one with "strata serve", or turn on the setting strata.start.'), remedies: [setting('strata.start', vscode.l10n.t('Show Setting'))] };
    case 'stopped':
      return { text: vscode.l10n.t('The server was stopped.'), remedies: [{ title: vscode.l10n.t('Start Server'), command: 'strata.reconnect' }] };
    case 'noAddress':
      return { text: vscode.l10n.t('Set the address of the server'), remedies: [setAddress()] };
    case 'badAddress':
      return { text: reason, remedies: [setAddress()], isSudden: true };
    case 'noToken':
      return { text: reason, remedies: [setToken()] };
    case 'token':
      return { text: vscode.l10n.t('The server at {0} does not accept the token.', url), remedies: [setToken(), setAddress()], isSudden: true };
    case 'origin':
    case 'origin_or_token':
      return { text: vscode.l10n.t('The server at {0} does not accept this editor: {1}', url, reason), remedies: [setToken(), tryAgain()], isSudden: true };
    case 'address':
      return { text: vscode.l10n.t('There is no Strata server at {0}: {1}', url, reason), remedies: [setAddress(), tryAgain()], isSudden: true };
    case 'protocol':
      return { text: vscode.l10n.t('The server at {0} has another version than this extension: {1}', url, reason), remedies: [tryAgain(), install()], isSudden: true };
  }
}

/** Tells the user why there is no connection, with what helps. */
export class Remedies implements vscode.Disposable {
  readonly #connection: Connection;
  readonly #extension: vscode.Uri;
  readonly #subscription: vscode.Disposable;
  #told: Problem = '';

  constructor(connection: Connection, extension: vscode.Uri) {
    this.#connection = connection;
    this.#extension = extension;
    this.#subscription = connection.onDidChange(() => this.#changed());
  }

  readonly table = {
    fixConnection: () => this.#show(),
    showInstallation: () => vscode.commands.executeCommand('markdown.showPreview', vscode.Uri.joinPath(this.#extension, 'dist', 'install.md')),
  };

  dispose(): void {
    this.#subscription.dispose();
  }

  /** Notifies of a sudden problem once, and again if the user has tried again. */
  #changed(): void {
    const { problem } = this.#connection;
    if (problem === this.#told) return;
    this.#told = problem;
    if (this.#explanation?.isSudden) void this.#show();
  }

  get #explanation(): Explanation | undefined {
    const { state, problem, url } = this.#connection;
    return problem === '' ? undefined : explain(problem, url, 'reason' in state ? state.reason : '');
  }

  /** Shows the problem, and does what the user chooses. Without a problem, the connection is tried at once. */
  async #show(): Promise<void> {
    const explanation = this.#explanation;
    if (!explanation) return this.#connection.retryNow();
    const { text, remedies } = explanation;
    const chosen = await warn(text, ...remedies.map(({ title }) => title));
    const remedy = remedies.find(({ title }) => title === chosen);
    if (remedy) await vscode.commands.executeCommand(remedy.command, ...(remedy.args ?? []));
  }
}
