import * as vscode from 'vscode';
import type { Connection } from '../server/connection.js';
import type { CurrentSession } from './current.js';
import type { Listed } from './list.js';

/** What a command is given: an entry of the tree by a menu, `selection` by a key, nothing by the command palette. */
export type Given = Listed | 'selection' | undefined;

/** Returns the session that a command is for: the given one, the selected one, or by default the current one. */
export type Target = (given: Given) => Promise<Listed>;

export function targeting(connection: Connection, current: CurrentSession, selected: () => Promise<Listed | undefined>): Target {
  return async (given) => {
    const listed = given === 'selection' ? await selected() : given;
    if (listed) return listed;
    if (given === 'selection' || current.id === null) throw new Error(vscode.l10n.t('open a session first'));
    const { session } = await connection.required().call('_strata/session/info', { sessionId: current.id });
    return { info: session, state: '' };
  };
}
