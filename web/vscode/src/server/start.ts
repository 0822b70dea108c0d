import { homedir } from 'node:os';
import * as vscode from 'vscode';
import type { Endpoint } from '@strata/client';
import { findServer, ServerNotFound, ServerNotStarted, startServer } from '@strata/client/node';
import { Unusable, type FindOptions } from '../platform.js';
import { settings } from '../settings.js';
import { serverEnvironment } from '../workspace/environment.js';
import { programOf } from './program.js';

/** Returns the running server of this user. If there is none, it starts one, which outlives this window. */
export async function findOrStart({ start, onStart, signal }: FindOptions): Promise<Endpoint> {
  try {
    return await findServer();
  } catch (error) {
    if (!(error instanceof ServerNotFound)) throw error;
    if (!start) throw new Unusable('notRunning', error.message);
  }
  const command = programOf(settings.path, homedir());
  if (command === undefined) throw new Unusable('notInstalled', vscode.l10n.t('{0} in the setting strata.path is neither an absolute path nor a name on the search path', settings.path));
  onStart();
  try {
    return await startServer({ command, env: serverEnvironment(), signal });
  } catch (error) {
    if (signal.aborted || !(error instanceof Error)) throw error;
    throw new Unusable(error instanceof ServerNotStarted && error.reason === 'not_found' ? 'notInstalled' : 'notStarted', error.message);
  }
}
