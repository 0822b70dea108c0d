import * as vscode from 'vscode';
import { performing } from './chat/actions.js';
import { Attaching } from './chat/attach.js';
import { Chat, CHAT } from './chat/provider.js';
import { Questions } from './chat/questions.js';
import { Hud } from './hud.js';
import type { Platform } from './platform.js';
import { registerCommands } from './register.js';
import { ServerCommands } from './server/commands.js';
import { Connection } from './server/connection.js';
import { Keys } from './server/keys.js';
import { Remedies } from './server/remedies.js';
import { Tokens } from './server/token.js';
import { SessionCommands } from './sessions/commands.js';
import { CurrentSession } from './sessions/current.js';
import { SessionList } from './sessions/list.js';
import { SessionTree, type Node } from './sessions/tree.js';
import { CONNECTION_SETTINGS } from './settings.js';
import { StatusBar } from './status.js';
import { Files } from './workspace/files.js';
import { warnOfMappings } from './workspace/mappings.js';

/** Starts the extension on a platform. Everything it makes ends with the context's subscriptions. */
export function start(context: vscode.ExtensionContext, platform: Platform): void {
  const files = new Files(platform.local);
  const tokens = new Tokens(context.secrets);
  const list = new SessionList();
  const current = new CurrentSession(context.workspaceState);
  const questions = new Questions((id) => void sessions.open(id), () => chat.isVisible);
  const connection = new Connection(platform, tokens, {
    ...files.handlers,
    permission: questions.ask,
    workspace: files.held.handlers,
    ...(platform.terminals ? { terminal: platform.terminals } : {}),
  });
  const remedies = new Remedies(connection, context.extensionUri);
  const keys = new Keys(context.secrets, connection);
  const chat: Chat = new Chat(context.extensionUri, connection, questions, () => current.id, (action) => perform(action));
  const sessions: SessionCommands = new SessionCommands({ connection, list, current, files, chat });
  const hud = new Hud(connection, current);
  const perform = performing({ connection, hud, sessions, files });
  const folders = (): string[] => (vscode.workspace.workspaceFolders ?? []).flatMap(({ uri }) => files.path(uri) ?? []);
  const tree = new SessionTree(list, folders, () => current.id);

  context.subscriptions.push(
    connection, remedies, keys, list, current, chat, tree, new StatusBar(connection, current),
    ...(platform.terminals ? [platform.terminals] : []),
    registerCommands({ ...sessions.table, ...hud.table, ...new Attaching(files, chat).table, ...new ServerCommands(connection, tokens).table, ...remedies.table, ...keys.table }),
    vscode.window.registerWebviewViewProvider(CHAT, chat),
    vscode.window.createTreeView<Node>('strata.sessions', { treeDataProvider: tree, showCollapseAll: true }),
    connection.onDidChange(() => {
      if (connection.state.kind !== 'open') platform.terminals?.dispose();
    }),
    connection.onDidReplace((client) => {
      list.follow(client);
      current.follow(client);
    }),
    current.onDidReceive((event) => keys.received(event)),
    current.onDidChange(() => {
      chat.sessionChanged();
      tree.refresh();
    }),
    files.held,
    vscode.workspace.onDidChangeWorkspaceFolders(() => tree.refresh()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (CONNECTION_SETTINGS.some((name) => event.affectsConfiguration(name))) void connection.reconnect();
      if (event.affectsConfiguration('strata.pathMappings')) {
        tree.refresh();
        warnOfMappings();
      }
    }),
  );
  warnOfMappings();
  void connection.reconnect();
}
