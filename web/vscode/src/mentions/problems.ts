import * as vscode from 'vscode';
import type { Mention } from '../channel/messages.js';
import type { Files } from '../workspace/files.js';
import { listOf, type FileProblems } from './describe.js';

/** Returns the errors and warnings in files of the server. */
export function allProblems(files: Files): FileProblems[] {
  return vscode.languages.getDiagnostics().flatMap(([uri, diagnostics]) => {
    const problems = diagnostics.filter(({ severity }) => severity <= vscode.DiagnosticSeverity.Warning);
    return problems.length > 0 && files.path(uri) !== undefined ? [{ uri, name: vscode.workspace.asRelativePath(uri, false), problems }] : [];
  });
}

/** Returns the mention of problems, with their list as an embedded text. */
export function problemsMention(label: string, files: readonly FileProblems[]): Mention {
  const count = files.reduce((sum, { problems }) => sum + problems.length, 0);
  return {
    label,
    detail: count === 1 ? vscode.l10n.t('1 problem') : vscode.l10n.t('{0} problems', count),
    attachment: { name: label, block: { type: 'resource', resource: { uri: `attachment:${encodeURIComponent(label)}`, mimeType: 'text/plain', text: listOf(files) } } },
  };
}
