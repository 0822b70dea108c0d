import type * as vscode from 'vscode';
import { start } from './extension.js';

/** The entry `browser`: an extension host in a web worker. The address of the server and its token are settings. */
export function activate(context: vscode.ExtensionContext): void {
  start(context, { local: false });
}
