import * as vscode from 'vscode';
import { performing } from './chat/actions.js';
import { Attaching } from './chat/attach.js';
import { Chat, CHAT } from './chat/provider.js';
import { Questions } from './chat/questions.js';
import { Hud, HUD } from './hud.js';
import { Mentions } from './mentions/source.js';
import type { Platform } from './platform.js';
import { ProblemActions } from './problems/actions.js';
import { Approvals } from './proposals/approvals.js';
import { CodeBlocks } from './proposals/code.js';
import { Proposals } from './proposals/proposals.js';
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
import type { PageParts } from './webview/page.js';
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
  const page: PageParts = { extension: context.extensionUri, connection, questions, mentions: new Mentions(files), act: (action) => perform(action) };
  const chat: Chat = new Chat(page, () => current.id);
  const sessions: SessionCommands = new SessionCommands({ connection, list, current, files, chat });
  const hud = new Hud(page, current);
  const proposals = new Proposals();
  const approvals = new Approvals(questions, proposals, files, (id) => chat.isVisible && current.id === id);
  const problems = new ProblemActions(connection, files, chat);
  const perform = performing({ connection, hud, sessions, files, code: new CodeBlocks(proposals, files), approvals });
  const folders = (): string[] => (vscode.workspace.workspaceFolders ?? []).flatMap(({ uri }) => files.path(uri) ?? []);
  const tree = new SessionTree(list, folders, () => current.id);

  context.subscriptions.push(
    connection, remedies, keys, list, current, chat, hud, proposals, approvals, tree, new StatusBar(connection, current),
    ...(platform.terminals ? [platform.terminals] : []),
    registerCommands({ ...sessions.table, ...hud.table, ...new Attaching(files, chat).table, ...proposals.table, ...problems.table, ...new ServerCommands(connection, tokens).table, ...remedies.table, ...keys.table }),
    vscode.languages.registerCodeActionsProvider('*', problems, { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] }),
    vscode.window.registerWebviewViewProvider(CHAT, chat),
    vscode.window.registerWebviewPanelSerializer(HUD, hud),
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
