import * as vscode from 'vscode';
import type { Client } from '@strata/client';
import { absolute } from './rows.js';

/** Maximum number of paths that the server returns. */
const LIMIT = 1000;

/** Returns the paths of the files below a folder of the server, without those that git ignores. */
export async function filesBelow(client: Client, sessionId: string, folder: string): Promise<string[]> {
  const { session } = await client.call('_strata/session/info', { sessionId });
  const start = withSlash(folder);
  const root = [session.cwd, session._meta?.strata?.folder ?? session.cwd].map(withSlash).find((one) => start.startsWith(one)) ?? withSlash(session.cwd);
  const { paths } = await client.call('_strata/workspace/find', { sessionId, query: start.startsWith(root) ? start.slice(root.length) : start, limit: LIMIT });
  if (paths.length >= LIMIT) throw new Error(vscode.l10n.t('{0} has more than {1} files', folder, LIMIT));
  const below = paths.map(({ path }) => slashed(absolute(root, path))).filter((path) => path.startsWith(start));
  if (below.length === 0) throw new Error(vscode.l10n.t('{0} has no files that the server lists', folder));
  return below;
}

/** Returns the start of the paths below a folder. */
const withSlash = (folder: string): string => `${slashed(folder).replace(/\/+$/, '')}/`;

const slashed = (path: string): string => path.replaceAll('\\', '/');
