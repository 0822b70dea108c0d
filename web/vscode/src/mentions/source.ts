import * as vscode from 'vscode';
import type { Mention, MentionKind } from '../channel/messages.js';
import type { Files } from '../workspace/files.js';
import { linesOfSelection, linkTo } from './links.js';
import { allProblems, problemsMention } from './problems.js';
import { symbolMentions } from './symbols.js';

/** Maximum number of files whose problems are offered by name. */
const MAX_PROBLEM_FILES = 5;

/** Finds what a prompt can mention in the editor: the selection, problems and symbols. */
export class Mentions {
  readonly #files: Files;

  constructor(files: Files) {
    this.#files = files;
  }

  /** Returns the mentions of a kind that match a query, best first. */
  async find(kind: MentionKind, query: string): Promise<Mention[]> {
    return kind === 'symbols' ? symbolMentions(this.#files, query) : [...this.#selection(query), ...this.#problems(query)];
  }

  #selection(query: string): Mention[] {
    const editor = vscode.window.activeTextEditor;
    if (!editor || editor.selection.isEmpty) return [];
    const link = linkTo(this.#files, editor.document.uri, linesOfSelection(editor.selection));
    if (!link || !['selection', link.name.toLowerCase()].some((text) => text.startsWith(query.toLowerCase()))) return [];
    return [{ label: spaceless(link.name), detail: vscode.l10n.t('Selection'), attachment: { name: link.name, block: { type: 'resource_link', ...link } } }];
  }

  /** Returns the problems of all files, and those of the first files, that of the active editor first. */
  #problems(query: string): Mention[] {
    const wanted = query.toLowerCase();
    if (!'problems'.startsWith(wanted) && !wanted.startsWith('problems')) return [];
    const all = allProblems(this.#files);
    if (all.length === 0) return [];
    const active = vscode.window.activeTextEditor?.document.uri.toString();
    const files = [...all].sort((a, b) => Number(b.uri.toString() === active) - Number(a.uri.toString() === active)).slice(0, MAX_PROBLEM_FILES);
    const mentions = [problemsMention('problems', all), ...files.map((file) => problemsMention(`problems:${spaceless(file.name)}`, [file]))];
    return mentions.filter(({ label }) => label.toLowerCase().startsWith(wanted));
  }
}

/** Returns a name as the text after an @, which has no blanks. */
const spaceless = (name: string): string => name.replace(/[\s@]+/g, '_');
