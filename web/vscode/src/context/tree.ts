import * as vscode from 'vscode';
import { baseName, folderName, tokens } from '../format.js';
import { selectionOf } from '../selection.js';
import type { ContextFiles } from './files.js';
import { isSeen, type Context, type ContextFile } from './rows.js';
import { factsOf, stateOf } from './words.js';

/** A group of files below those of the session. */
export interface Group {
  group: 'read' | 'removed';
}

/** A file that was removed and is sent until the next rebuild. */
export interface Removed {
  removed: Context['removed'][number];
}

/** A file of the session, or one that tools read. */
export interface FileNode {
  file: ContextFile;
}

export type ContextNode = FileNode | Removed | Group;

/** The tree of the files in the context. Files that are dropped on it are added. */
export class ContextTree implements vscode.TreeDataProvider<ContextNode>, vscode.TreeDragAndDropController<ContextNode>, vscode.Disposable {
  readonly #context: ContextFiles;
  readonly #add: (uris: vscode.Uri[]) => unknown;
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #view: vscode.TreeView<ContextNode>;
  readonly #subscription: vscode.Disposable;

  readonly onDidChangeTreeData = this.#changed.event;
  readonly dropMimeTypes = [URI_LIST];
  readonly dragMimeTypes = [];

  /** `add` adds files to the context. */
  constructor(context: ContextFiles, add: (uris: vscode.Uri[]) => unknown) {
    this.#context = context;
    this.#add = add;
    this.#view = vscode.window.createTreeView('strata.context', { treeDataProvider: this, dragAndDropController: this, canSelectMany: true, showCollapseAll: true });
    this.#subscription = context.onDidChange(() => this.#show());
  }

  selection(): Promise<readonly ContextNode[]> {
    return selectionOf(this.#view);
  }

  getChildren(node?: ContextNode): ContextNode[] {
    const { files, read, removed } = this.#context.context;
    if (!node) {
      const groups = [...(read.length > 0 ? ['read' as const] : []), ...(removed.length > 0 ? ['removed' as const] : [])];
      return [...files.map((file) => ({ file })), ...groups.map((group) => ({ group }))];
    }
    if (!('group' in node)) return [];
    return node.group === 'read' ? read.map((file) => ({ file })) : removed.map((removed) => ({ removed }));
  }

  getTreeItem(node: ContextNode): vscode.TreeItem {
    if ('group' in node) return groupItem(node, this.#context.context);
    if ('removed' in node) return removedItem(node);
    return fileItem(node.file, this.#context.uri(node.file.path));
  }

  async handleDrop(_target: ContextNode | undefined, data: vscode.DataTransfer): Promise<void> {
    const list = await data.get(URI_LIST)?.asString();
    const lines = (list ?? '').split(/\r?\n/).filter((line) => line !== '' && !line.startsWith('#'));
    if (lines.length > 0) await this.#add(lines.map((line) => vscode.Uri.parse(line, true)));
  }

  dispose(): void {
    this.#subscription.dispose();
    this.#view.dispose();
    this.#changed.dispose();
  }

  #show(): void {
    const { files, tokens: sum } = this.#context.context;
    this.#view.description = files.length === 0 ? '' : vscode.l10n.t('{0} tokens', sum.toLocaleString());
    this.#changed.fire();
  }
}

const URI_LIST = 'text/uri-list';

function groupItem({ group }: Group, { read, removed }: Context): vscode.TreeItem {
  const item = new vscode.TreeItem(group === 'read' ? vscode.l10n.t('Read by Tools') : vscode.l10n.t('Removed'), vscode.TreeItemCollapsibleState.Collapsed);
  item.id = `group ${group}`;
  item.iconPath = new vscode.ThemeIcon(group === 'read' ? 'tools' : 'history');
  item.description = group === 'read' ? String(read.length) : vscode.l10n.t('{0} tokens until the next rebuild', removed.reduce((sum, file) => sum + file.tokens, 0).toLocaleString());
  item.tooltip = group === 'read' ? vscode.l10n.t('The text of these files is part of messages.') : vscode.l10n.t('Requests contain these files until the next rebuild.');
  item.contextValue = 'group';
  return item;
}

function removedItem({ removed: { path, tokens: n, tier } }: Removed): vscode.TreeItem {
  const item = new vscode.TreeItem(baseName(path));
  item.id = `removed ${path}`;
  item.description = `${tokens(n)} · ${tier}`;
  item.tooltip = path;
  item.contextValue = 'removed';
  return item;
}

function fileItem(file: ContextFile, uri: vscode.Uri | undefined): vscode.TreeItem {
  const item = new vscode.TreeItem(baseName(file.path));
  item.id = `file ${file.path}`;
  if (uri) item.resourceUri = uri;
  item.iconPath = isSeen(file) ? (file.pinned ? new vscode.ThemeIcon('pinned') : vscode.ThemeIcon.File) : new vscode.ThemeIcon('warning', new vscode.ThemeColor('list.warningForeground'));
  item.description = [...(file.read ? [] : [tokens(file.tokens)]), ...(file.tier === '' ? [] : [file.tier]), ...(file.state === 'full' ? [] : [stateOf(file)]), folderName(file.path)].filter((part) => part !== '').join(' · ');
  item.tooltip = [file.path, ...factsOf(file)].join('\n');
  item.accessibilityInformation = { label: [file.path, ...factsOf(file)].join(', ') };
  item.contextValue = file.read ? 'read' : file.pinned ? 'file pinned' : 'file';
  if (uri) item.command = { command: 'vscode.open', title: vscode.l10n.t('Open File'), arguments: [uri, openOptions(file)] };
  return item;
}

/** Shows the first of the lines that the model sees. */
function openOptions({ range }: ContextFile): vscode.TextDocumentShowOptions {
  if (!range) return { preview: true };
  const at = new vscode.Position(Math.max(range.start, 1) - 1, 0);
  return { preview: true, selection: new vscode.Range(at, at) };
}
