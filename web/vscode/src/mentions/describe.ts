import type * as vscode from 'vscode';

/** Maximum number of problems and characters of their list in a prompt. */
const MAX_PROBLEMS = 200;
const MAX_LIST = 50_000;

/** Maximum characters of the message of a problem. */
const MAX_MESSAGE = 2000;

/** The problems of a file. */
export interface FileProblems {
  uri: vscode.Uri;
  name: string;
  problems: readonly vscode.Diagnostic[];
}

/** Returns a list of problems for the model, one a line, as far as the limits allow. */
export function listOf(files: readonly FileProblems[]): string {
  const lines = files.flatMap(({ name, problems }) => problems.map((problem) => describe(name, problem)));
  const taken: string[] = [];
  let size = 0;
  for (const line of lines.slice(0, MAX_PROBLEMS)) {
    if ((size += line.length + 1) > MAX_LIST) break;
    taken.push(line);
  }
  const rest = lines.length - taken.length;
  return `${taken.join('\n')}\n${rest > 0 ? `(and ${rest} more)\n` : ''}`;
}

/** Returns a problem as `path:line:column: severity: message (source code)`, in one line. */
export function describe(name: string, problem: vscode.Diagnostic): string {
  const { range, message, severity } = problem;
  const kind = ['error', 'warning', 'information', 'hint'][severity] ?? 'error';
  return `${name}:${range.start.line + 1}:${range.start.character + 1}: ${kind}: ${oneLine(message)}${originOf(problem)}`;
}

/** Returns the source and the code of a problem in parentheses, "" for neither. */
export function originOf({ source, code }: vscode.Diagnostic): string {
  const value = typeof code === 'object' ? code.value : code;
  const parts = [source, value].filter((part) => part !== undefined && part !== '').map((part) => oneLine(String(part)));
  return parts.length > 0 ? ` (${parts.join(' ')})` : '';
}

/** Returns the message of a problem in one line, as far as the limit allows. */
export const oneLine = (text: string): string => text.slice(0, MAX_MESSAGE).replace(/\s+/g, ' ').trim();
