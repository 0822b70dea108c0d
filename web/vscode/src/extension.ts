import * as vscode from 'vscode';
import { performing } from './chat/actions.js';
import { Attaching } from './chat/attach.js';
import { Chat, CHAT } from './chat/provider.js';
import { Questions } from './chat/questions.js';
import { ContextCommands } from './context/commands.js';
import { ContextDecorations } from './context/decorations.js';
import { ContextFiles } from './context/files.js';
import { ContextTree } from './context/tree.js';
import { Hud, HUD } from './hud.js';
import { Mentions } from './mentions/source.js';
import type { Platform } from './platform.js';
import { ProblemActions } from './problems/actions.js';
import { Approvals } from './proposals/approvals.js';
import { CodeBlocks } from './proposals/code.js';
import { Proposals } from './proposals/proposals.js';
import { registerCommands, reporting } from './register.js';
import { ServerCommands } from './server/commands.js';
import { Connection } from './server/connection.js';
import { Keys } from './server/keys.js';
import { Remedies } from './server/remedies.js';
import { Tokens } from './server/token.js';
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
import type { PageParts } from './webview/page.js';
import { Files } from './workspace/files.js';
import { warnOfMappings } from './workspace/mappings.js';

/** Starts the extension on a platform. Everything it makes ends with the context's subscriptions. */
export function start(context: vscode.ExtensionContext, platform: Platform): void {
  const files = new Files(platform.local);
  const tokens = new Tokens(context.secrets);
  const list = new SessionList();
  const current = new CurrentSession(context.workspaceState);
  const isInSight = (id: string): boolean => chat.isVisible && current.id === id;
  const questions = new Questions((id) => void sessions.open(id), isInSight);
  const connection = new Connection(platform, tokens, {
    ...files.handlers,
    permission: questions.ask,
    workspace: files.held.handlers,
    ...(platform.terminals ? { terminal: platform.terminals } : {}),
  });

  const page: PageParts = { extension: context.extensionUri, connection, questions, mentions: new Mentions(files), act: (action) => perform(action) };
  const chat: Chat = new Chat(page, () => current.id);
  const hud = new Hud(page, current);
  const sessions: SessionCommands = new SessionCommands({ connection, list, current, files, chat, target: (given) => target(given) });
  const tree = new SessionTree(list, () => (vscode.workspace.workspaceFolders ?? []).flatMap(({ uri }) => files.path(uri) ?? []), () => current.id);
  const target = targeting(connection, current, () => tree.selected());
  const open = (id: string): Promise<void> => sessions.open(id);

  const contextFiles = new ContextFiles(current, files);
  const contextCommands = new ContextCommands({ connection, current, files, createSession: () => sessions.create(), selection: () => contextTree.selection() });
  const contextTree: ContextTree = new ContextTree(contextFiles, reporting((uris: vscode.Uri[]) => contextCommands.add(uris)));
  const proposals = new Proposals();
  const approvals = new Approvals(questions, proposals, files, isInSight);
  const problems = new ProblemActions(connection, files, chat);
  const sessionFolder = (): vscode.Uri | undefined => {
    const listed = current.id === null ? undefined : list.get(current.id);
    return listed && files.uri(listed.info.cwd);
  };
  const perform = performing({ connection, hud, sessions, code: new CodeBlocks(proposals, files, sessionFolder), approvals });

  const remedies = new Remedies(connection, context.extensionUri);
  const keys = new Keys(context.secrets, connection);
  const spending = new Spending(list);

  context.subscriptions.push(
    connection, remedies, keys, files.held, list, current, chat, hud, tree, spending, contextFiles, contextTree, proposals, approvals,
    new ContextDecorations(contextFiles),
    new StatusBar(connection, current, spending),
    ...(platform.terminals ? [platform.terminals] : []),
    registerCommands({
      ...new ServerCommands(connection, tokens).table,
      ...remedies.table,
      ...keys.table,
      ...sessions.table,
      ...new SessionSearch(connection, list, open).table,
      ...new Bin(connection, open).table,
      ...new Transfer(connection, target, open).table,
      ...contextCommands.table,
      ...new Attaching(files, chat).table,
      ...proposals.table,
      ...problems.table,
      ...hud.table,
      ...new Walkthrough().table,
    }),
    vscode.window.registerWebviewViewProvider(CHAT, chat),
    vscode.window.registerWebviewPanelSerializer(HUD, hud),
    vscode.languages.registerCodeActionsProvider('*', problems, { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] }),
    connection.onDidChange(() => {
      if (connection.state.kind !== 'open') platform.terminals?.endAll();
    }),
    connection.onDidReplace((client) => {
      list.follow(client);
      current.follow(client);
      spending.follow(client);
    }),
    current.onDidReceive((event) => keys.received(event)),
    current.onDidChange(() => {
      chat.sessionChanged();
      tree.refresh();
    }),
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
