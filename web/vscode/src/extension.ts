import * as vscode from 'vscode';
import { performing } from './chat/actions.js';
import { Attaching } from './chat/attach.js';
import { Chat, CHAT } from './chat/provider.js';
import { Questions } from './chat/questions.js';
import { ContextCommands } from './context/commands.js';
import { ContextDecorations } from './context/decorations.js';
import { ContextFiles } from './context/files.js';
import { ContextTree } from './context/tree.js';
import { Hud } from './hud.js';
import type { Platform } from './platform.js';
import { registerCommands } from './register.js';
import { ServerCommands } from './server/commands.js';
import { Connection } from './server/connection.js';
import { Token } from './server/token.js';
import { Bin } from './sessions/bin.js';
import { SessionCommands } from './sessions/commands.js';
import { CurrentSession } from './sessions/current.js';
import { SessionList } from './sessions/list.js';
import { SessionSearch } from './sessions/search.js';
import { targeting } from './sessions/target.js';
import { Transfer } from './sessions/transfer.js';
import { SessionTree } from './sessions/tree.js';
import { CONNECTION_SETTINGS } from './settings.js';
import { Spending } from './spending.js';
import { StatusBar } from './status.js';
import { Walkthrough } from './walkthrough.js';
import { Files } from './workspace/files.js';

/** Starts the extension on a platform. Everything it makes ends with the context's subscriptions. */
export function start(context: vscode.ExtensionContext, platform: Platform): void {
  const files = new Files(platform.local);
  const token = new Token(context.secrets);
  const list = new SessionList();
  const current = new CurrentSession(context.workspaceState);
  const questions = new Questions((id) => void sessions.open(id), () => chat.isVisible);
  const connection = new Connection(platform, token, {
    ...files.handlers,
    permission: questions.ask,
    ...(platform.terminals ? { terminal: platform.terminals } : {}),
  });
  const chat: Chat = new Chat(context.extensionUri, connection, questions, () => current.id, (action) => perform(action));
  const sessions: SessionCommands = new SessionCommands({ connection, list, current, files, chat, target: (given) => target(given) });
  const hud = new Hud(connection, current);
  const perform = performing({ connection, hud, sessions, files });
  const folders = (): string[] => (vscode.workspace.workspaceFolders ?? []).flatMap(({ uri }) => files.path(uri) ?? []);
  const tree = new SessionTree(list, folders, () => current.id);
  const target = targeting(connection, current, () => tree.selected);
  const open = (id: string): Promise<void> => sessions.open(id);
  const contextFiles = new ContextFiles(current, files);
  const contextCommands = new ContextCommands({ connection, current, files, createSession: () => sessions.create(), selection: () => contextTree.selection });
  const contextTree: ContextTree = new ContextTree(contextFiles, (uris) => contextCommands.add(uris));
  const spending = new Spending(list);

  context.subscriptions.push(
    connection, list, current, chat, tree, new StatusBar(connection, current, spending),
    ...(platform.terminals ? [platform.terminals] : []),
    registerCommands({ ...sessions.table, ...hud.table, ...new Attaching(files, chat).table, ...new ServerCommands(connection, token).table }),
    spending, contextFiles, contextTree, new ContextDecorations(contextFiles),
    registerCommands({ ...contextCommands.table, ...new SessionSearch(connection, list, open).table, ...new Bin(connection, open).table, ...new Transfer(connection, target, open).table, ...new Walkthrough().table }),
    vscode.window.registerWebviewViewProvider(CHAT, chat),
    connection.onDidReplace((client) => {
      list.follow(client);
      current.follow(client);
      spending.follow(client);
    }),
    current.onDidChange(() => {
      chat.sessionChanged();
      tree.refresh();
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => tree.refresh()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (CONNECTION_SETTINGS.some((name) => event.affectsConfiguration(name))) void connection.reconnect();
      if (event.affectsConfiguration('strata.pathMappings')) tree.refresh();
    }),
  );
  void connection.reconnect();
}
