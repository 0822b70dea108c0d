import * as vscode from 'vscode';
import { warn } from '../notices.js';
import { settings } from '../settings.js';
import { invalidMappings } from './paths.js';

/** Notifies of mappings in the setting `strata.pathMappings` that are ignored because they are invalid. */
export function warnOfMappings(): void {
  const invalid = invalidMappings(settings.pathMappings);
  if (invalid.length > 0) void notify(invalid.join(', '));
}

async function notify(uris: string): Promise<void> {
  const show = vscode.l10n.t('Show Setting');
  const chosen = await warn(vscode.l10n.t('Ignoring {0} in strata.pathMappings: each entry needs a URI with a scheme (# is %23 in it, and ? is %3F), and an absolute path of the server.', uris), show);
  if (chosen === show) await vscode.commands.executeCommand('workbench.action.openSettings', 'strata.pathMappings');
}
