import * as vscode from 'vscode';
import type { Chat } from '../chat/provider.js';
import { linesOfSelection, linkTo } from '../mentions/links.js';
import { oneLine, originOf } from '../mentions/describe.js';
import type { Connection } from '../server/connection.js';
import type { Files } from '../workspace/files.js';

/** Maximum number of problems in a prompt. */
const MAX_PROBLEMS = 20;

/**
 * The actions "Fix with Strata" and "Explain with Strata" on problems, and the explanation of a selection. Each begins a prompt
 * that the user can complete and sends: a turn can cost money, and the user may want to say more.
 */
export class ProblemActions implements vscode.CodeActionProvider {
  readonly #connection: Connection;
  readonly #files: Files;
  readonly #chat: Chat;

  constructor(connection: Connection, files: Files, chat: Chat) {
    this.#connection = connection;
    this.#files = files;
    this.#chat = chat;
  }

  readonly table = {
    fix: (uri: vscode.Uri, problems: vscode.Diagnostic[]) => this.#ask(vscode.l10n.t('Fix this:'), uri, problems),
    explain: (uri: vscode.Uri, problems: vscode.Diagnostic[]) => this.#ask(vscode.l10n.t('Explain this:'), uri, problems),
    explainSelection: () => this.#explainSelection(),
  };

  provideCodeActions(document: vscode.TextDocument, _range: vscode.Range, { diagnostics }: vscode.CodeActionContext): vscode.CodeAction[] {
    const problems = diagnostics.slice(0, MAX_PROBLEMS);
    if (problems.length === 0 || !this.#connection.client || this.#files.path(document.uri) === undefined) return [];
    const action = (title: string, command: string): vscode.CodeAction => ({
      title, kind: vscode.CodeActionKind.QuickFix, diagnostics: problems, command: { title, command, arguments: [document.uri, problems] },
    });
    return [action(vscode.l10n.t('Fix with Strata'), 'strata.fix'), action(vscode.l10n.t('Explain with Strata'), 'strata.explain')];
  }

  /** Begins a prompt about problems, with a link to their lines. */
  async #ask(request: string, uri: vscode.Uri, problems: readonly vscode.Diagnostic[]): Promise<void> {
    const [first] = problems;
    if (!first) return;
    const range = problems.reduce((all, problem) => all.union(problem.range), first.range);
    const lines = problems.slice(0, MAX_PROBLEMS).map((problem) => `- ${oneLine(problem.message)}${originOf(problem)}`);
    await this.#draft(`${request}\n${lines.join('\n')}`, uri, range);
  }

  async #explainSelection(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor) await this.#draft(vscode.l10n.t('Explain these lines.'), editor.document.uri, editor.selection);
  }

  async #draft(text: string, uri: vscode.Uri, range: vscode.Range): Promise<void> {
    const link = linkTo(this.#files, uri, linesOfSelection(range));
    if (!link) throw new Error(vscode.l10n.t('{0} is not in a folder of the server', uri.toString(true)));
    await this.#chat.draft(text, [link]);
  }
}
