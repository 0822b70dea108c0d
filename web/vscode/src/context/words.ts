import * as vscode from 'vscode';
import type { FileInfo } from '@strata/client';
import type { ContextFile } from './rows.js';

/** Returns how much of a file the model receives, in words. */
export function stateOf({ state, range, reason }: FileInfo): string {
  switch (state) {
    case 'full':
      return vscode.l10n.t('whole file');
    case 'partial':
      if (!range) return vscode.l10n.t('part of the file');
      return range.end > range.start ? vscode.l10n.t('lines {0} to {1}', range.start, range.end) : vscode.l10n.t('line {0}', range.start);
    case 'summary_only':
      return vscode.l10n.t('outline only');
    case 'not_available':
      return reason ? vscode.l10n.t('not available: {0}', reason.replaceAll('_', ' ')) : vscode.l10n.t('not available');
  }
}

/** Returns the facts on a file for a tooltip, one a line. */
export function factsOf(file: ContextFile): string[] {
  const facts = [stateOf(file)];
  if (!file.read) facts.push(vscode.l10n.t('{0} tokens', file.tokens.toLocaleString()));
  if (file.tier !== '') facts.push(vscode.l10n.t('tier {0}', file.tier));
  if (file.reason && file.state !== 'not_available') facts.push(file.reason.replaceAll('_', ' '));
  if (file.pinned) facts.push(vscode.l10n.t('pinned: never evicted'));
  if (file.once) facts.push(vscode.l10n.t('removed after the next reply'));
  if (file.unsaved) facts.push(vscode.l10n.t('unsaved text'));
  if (file.unused > 0) facts.push(vscode.l10n.t('{0} unused tokens until the next rebuild', file.unused.toLocaleString()));
  return facts;
}
