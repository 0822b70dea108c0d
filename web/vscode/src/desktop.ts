import type * as vscode from 'vscode';
import { start } from './extension.js';
import { findOrStart } from './server/start.js';
import { Terminals } from './workspace/terminals.js';

/** The entry `main`: an extension host with Node, on this machine or the one that a remote window shows. */
export function activate(context: vscode.ExtensionContext): void {
  start(context, { find: findOrStart, terminals: new Terminals(), local: true });
}
