import * as vscode from 'vscode';
import { baseName, when } from '../format.js';
import { selectionOf } from '../selection.js';
import { titleOf, type Listed, type SessionList } from './list.js';

/** A folder whose sessions are shown below it; the sessions of the workspace have none. */
export interface OtherFolder {
  folder: string;
}

/** Loads more sessions. */
export interface More {
  more: true;
}

export type Node = Listed | OtherFolder | More;

/** The tree of sessions: those of the workspace's folders, then the other folders. */
export class SessionTree implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #list: SessionList;
  readonly #folders: () => readonly string[];
  readonly #current: () => string | null;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #view: vscode.TreeView<Node>;
  readonly #subscription: vscode.Disposable;

  readonly onDidChangeTreeData = this.#changed.event;

  /** `folders` returns the folders of the workspace on the server. */
  constructor(list: SessionList, folders: () => readonly string[], current: () => string | null) {
    this.#list = list;
    this.#folders = folders;
    this.#current = current;
    this.#view = vscode.window.createTreeView<Node>('strata.sessions', { treeDataProvider: this, showCollapseAll: true });
    this.#subscription = list.onDidChange(() => this.refresh());
  }

  /** Returns the selected session. */
  async selected(): Promise<Listed | undefined> {
    return (await selectionOf(this.#view)).find((node): node is Listed => 'info' in node);
  }

  refresh(): void {
    this.#changed.fire();
  }

  getChildren(node?: Node): Node[] {
    const { sessions } = this.#list;
    if (node) return 'folder' in node ? sessions.filter((s) => folderOf(s) === node.folder) : [];
    const own = ownFolders(sessions, this.#folders());
    const others = new Set(sessions.map(folderOf).filter((folder) => !own.has(folder)));
    return [...sessions.filter((s) => own.has(folderOf(s))), ...[...others].map((folder) => ({ folder })), ...(this.#list.hasMore ? [{ more: true as const }] : [])];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if ('more' in node) return moreItem();
    return 'folder' in node ? folderItem(node) : sessionItem(node, node.info.sessionId === this.#current());
  }

  dispose(): void {
    this.#subscription.dispose();
    this.#view.dispose();
    this.#changed.dispose();
  }
}

/** The folder of a session, the same for all spellings of its path. */
export const folderOf = ({ info }: Listed): string => info._meta?.strata?.folder ?? info.cwd;

/**
 * Returns the folders whose sessions are those of the workspace. The editor knows a folder by the path that the user opened,
 * which can lead through links; a session that was created by that path says where it leads.
 */
export function ownFolders(sessions: readonly Listed[], opened: readonly string[]): Set<string> {
  return new Set([...opened, ...sessions.filter(({ info }) => opened.includes(info.cwd)).map(folderOf)]);
}

function folderItem({ folder }: OtherFolder): vscode.TreeItem {
  const item = new vscode.TreeItem(baseName(folder), vscode.TreeItemCollapsibleState.Collapsed);
  item.id = `folder ${folder}`;
  item.description = folder;
  item.iconPath = vscode.ThemeIcon.Folder;
  item.contextValue = 'folder';
  return item;
}

function moreItem(): vscode.TreeItem {
  const item = new vscode.TreeItem(vscode.l10n.t('Load More Sessions'));
  item.id = 'more';
  item.iconPath = new vscode.ThemeIcon('ellipsis');
  item.command = { command: 'strata.loadMoreSessions', title: vscode.l10n.t('Load More Sessions') };
  return item;
}

function sessionItem({ info, state, activity }: Listed, isCurrent: boolean): vscode.TreeItem {
  const item = new vscode.TreeItem(titleOf(info));
  item.id = info.sessionId;
  item.description = activity?.kind === 'asking' ? vscode.l10n.t('needs permission') : state === 'running' ? vscode.l10n.t('running') : when(info.updatedAt);
  item.iconPath = new vscode.ThemeIcon(activity?.kind === 'asking' ? 'question' : state === 'running' ? 'loading~spin' : isCurrent ? 'comment-discussion' : 'comment');
  item.contextValue = 'session';
  item.tooltip = `${titleOf(info)}\n${info.cwd}`;
  item.command = { command: 'strata.openSession', title: vscode.l10n.t('Open Session'), arguments: [info.sessionId] };
  return item;
}
