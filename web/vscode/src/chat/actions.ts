import * as vscode from 'vscode';
import type { Action } from '../channel/messages.js';
import type { Hud } from '../hud.js';
import { reporting } from '../register.js';
import type { Connection } from '../server/connection.js';
import type { SessionCommands } from '../sessions/commands.js';
import type { Approvals } from '../proposals/approvals.js';
import type { CodeBlocks } from '../proposals/code.js';

/** What the editor does for a view. */
type Actions = { [K in Action['kind']]: (action: Extract<Action, { kind: K }>) => unknown };

/** Returns what does the actions of views. A failure is shown to the user. */
export function performing(parts: { connection: Connection; hud: Hud; sessions: SessionCommands; code: CodeBlocks; approvals: Approvals }): (action: Action) => void {
  const actions: Actions = {
    hud: ({ address }) => parts.hud.open(address),
    browser: ({ address }) => parts.hud.openInBrowser(address),
    save: ({ name, content }) => save(name, content),
    insert: ({ text }) => parts.code.insert(text),
    apply: ({ block }) => parts.code.apply(block),
    openDiff: ({ sessionId, toolCallId }) => parts.approvals.open(sessionId, toolCallId),
    newSession: () => parts.sessions.create(),
    reconnect: () => parts.connection.reconnect(),
    fixConnection: () => vscode.commands.executeCommand('strata.fixConnection'),
  };
  const perform = reporting((action: Action) => (actions[action.kind] as (action: Action) => unknown)(action));
  return (action) => void perform(action);
}

/** Stores a file where the user chooses, by default under its name in the first folder of the workspace. */
async function save(name: string, content: Uint8Array): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const fileName = name.replace(/[/\\:*?"<>|\p{Cc}]/gu, '').slice(0, 100) || 'session.jsonl';
  const chosen = await vscode.window.showSaveDialog(folder ? { defaultUri: vscode.Uri.joinPath(folder, fileName) } : {});
  if (chosen) await vscode.workspace.fs.writeFile(chosen, content);
}
