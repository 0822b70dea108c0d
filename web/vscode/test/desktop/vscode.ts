/**
 * A small editor without windows, in place of the module `vscode`: it has the parts that the extension uses. Events that
 * nothing here causes, and providers that nothing here asks, can be registered under any name.
 */
import { mkdirSync, promises as files, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export class Disposable {
  static from(...all: { dispose(): unknown }[]): Disposable {
    return new Disposable(() => all.forEach((one) => one.dispose()));
  }

  constructor(readonly run: () => unknown) {}

  dispose(): void {
    this.run();
  }
}

export class EventEmitter<T> {
  readonly #listeners = new Set<(value: T) => unknown>();

  readonly event = (fn: (value: T) => unknown): Disposable => {
    this.#listeners.add(fn);
    return new Disposable(() => this.#listeners.delete(fn));
  };

  fire(value: T): void {
    for (const fn of [...this.#listeners]) fn(value);
  }

  dispose(): void {
    this.#listeners.clear();
  }
}

export class Uri {
  static file(name: string): Uri {
    return new Uri('file', '', name);
  }

  static parse(text: string): Uri {
    const [, scheme = '', authority = '', name = ''] = /^([\w+.-]+):(?:\/\/([^/]*))?(.*)$/.exec(text) ?? [];
    return new Uri(scheme, authority, decodeURIComponent(name));
  }

  static from({ scheme, authority = '', path: name = '', query = '' }: { scheme: string; authority?: string; path?: string; query?: string }): Uri {
    return new Uri(scheme, authority, name, query);
  }

  static joinPath(base: Uri, ...parts: string[]): Uri {
    return new Uri(base.scheme, base.authority, path.posix.join(base.path, ...parts));
  }

  constructor(readonly scheme: string, readonly authority: string, readonly path: string, readonly query = '') {}

  get fsPath(): string {
    return this.path;
  }

  toString(): string {
    return `${this.scheme}://${this.authority}${this.path.split('/').map(encodeURIComponent).join('/')}`;
  }
}

export class Position {
  constructor(readonly line: number, readonly character: number) {}
}

export class Range {
  constructor(readonly start: Position, readonly end: Position) {}
}

class Document {
  #text: string;
  isDirty = false;
  isClosed = false;
  /** Counts the changes of the text, from 1. */
  version = 1;

  constructor(readonly uri: Uri) {
    this.#text = readFileSync(uri.fsPath, 'utf8');
  }

  getText(): string {
    return this.#text;
  }

  offsetAt({ line, character }: Position): number {
    const before = this.#text.split('\n').slice(0, line);
    return before.reduce((sum, text) => sum + text.length + 1, 0) + character;
  }

  positionAt(offset: number): Position {
    const lines = this.#text.slice(0, offset).split('\n');
    return new Position(lines.length - 1, lines.at(-1)!.length);
  }

  replace(range: Range, text: string): void {
    const [start, end] = [this.offsetAt(range.start), this.offsetAt(range.end)];
    this.#text = this.#text.slice(0, start) + text + this.#text.slice(end);
    this.isDirty = true;
    this.version++;
    documents.changed.fire({ document: this, contentChanges: [{ range, rangeOffset: start, rangeLength: end - start, text }] });
  }

  save(): Promise<boolean> {
    writeFileSync(this.uri.fsPath, this.#text);
    this.isDirty = false;
    return Promise.resolve(true);
  }
}

const documents = { opened: new EventEmitter<Document>(), changed: new EventEmitter<{ document: Document; contentChanges: unknown[] }>() };

export class WorkspaceEdit {
  readonly steps: (() => Promise<unknown>)[] = [];

  createFile(uri: Uri, { contents }: { contents?: Uint8Array } = {}): void {
    this.steps.push(async () => {
      mkdirSync(path.dirname(uri.fsPath), { recursive: true });
      writeFileSync(uri.fsPath, contents ?? '', { flag: 'wx' });
    });
  }

  replace(uri: Uri, range: Range, text: string): void {
    this.steps.push(async () => (await workspace.openTextDocument(uri)).replace(range, text));
  }
}

export class TabInputTextDiff {
  constructor(readonly original: Uri, readonly modified: Uri) {}
}

export class TreeItem {
  constructor(readonly label: unknown, readonly collapsibleState?: number) {}
}

export class ThemeIcon {
  static readonly Folder = new ThemeIcon('folder');
  static readonly File = new ThemeIcon('file');
  constructor(readonly id: string) {}
}

export class ThemeColor {
  constructor(readonly id: string) {}
}

export class MarkdownString {
  constructor(public value = '') {}

  appendMarkdown(text: string): this {
    this.value += text;
    return this;
  }

  readonly appendText = (text: string): this => this.appendMarkdown(text);
}

export class FileDecoration {
  constructor(readonly badge?: string, readonly tooltip?: string, readonly color?: ThemeColor) {}
}

/** An answer of the user: the label of an entry or button, or the text for an input; null leaves the question. */
type Answer = string | null;

/** What the editor shows, and what the test does with it. */
export const editor = {
  settings: {} as Record<string, unknown>,
  settingsChanged: new EventEmitter<{ affectsConfiguration(name: string): boolean }>(),
  commands: new Map<string, (...args: unknown[]) => unknown>(),
  context: {} as Record<string, unknown>,
  contextChanged: new EventEmitter<void>(),
  /** The answers to the next questions, in their order. Without one, a question waits. */
  answers: [] as Answer[],
  /** The texts of all questions and messages. */
  messages: [] as string[],
  asked: new EventEmitter<void>(),
  /** The outputs of the terminals, in the order of their creation. */
  terminals: [] as { name: string; output: string; isOpen: boolean }[],
  status: { text: '', tooltip: '' as string | MarkdownString },
  documents: new Map<string, Document>(),
  webviews: new Map<string, { resolveWebviewView(view: unknown): unknown }>(),
};

function answer<T>(question: string, find: (given: string) => T | undefined): Promise<T | undefined> {
  editor.messages.push(question);
  editor.asked.fire();
  const given = editor.answers.shift();
  if (given === undefined) return new Promise(() => {});
  return Promise.resolve(given === null ? undefined : find(given));
}

const shown = (message: string, ...buttons: unknown[]): Promise<unknown> => answer(message, (given) => buttons.find((button) => button === given));

/** Returns an object that also has events and registrations of other names, which do nothing. */
function open<T extends object>(known: T): T {
  const nothing = (): Disposable => new Disposable(() => {});
  return new Proxy(known, { get: (target, name) => Reflect.get(target, name) ?? (/^(on|register|create|set)[A-Z]/.test(String(name)) ? nothing : undefined) });
}

export const l10n = {
  t: (text: string, ...values: unknown[]): string => text.replace(/\{(\d+)\}/g, (_, i: string) => String(values[Number(i)])),
};

export const env = { language: 'en', openExternal: () => Promise.resolve(true) };

export const languages = open({ getDiagnostics: () => [] });

export const commands = open({
  registerCommand(name: string, run: (...args: unknown[]) => unknown): Disposable {
    editor.commands.set(name, run);
    return new Disposable(() => editor.commands.delete(name));
  },
  async executeCommand(name: string, ...args: unknown[]): Promise<unknown> {
    if (name === 'setContext') {
      editor.context[String(args[0])] = args[1];
      editor.contextChanged.fire();
      return undefined;
    }
    return editor.commands.get(name)?.(...args);
  },
});

export const window = open({
  activeTextEditor: undefined,
  activeTerminal: undefined,
  visibleTextEditors: [],
  tabGroups: open({ all: [], activeTabGroup: { activeTab: undefined }, close: () => Promise.resolve(true) }),
  withProgress: (_options: unknown, run: (progress: { report(): void }, token: unknown) => unknown) => run({ report() {} }, { isCancellationRequested: false, onCancellationRequested: () => new Disposable(() => {}) }),
  state: { focused: true },
  showInformationMessage: shown,
  showWarningMessage: shown,
  showErrorMessage: shown,
  showQuickPick: (items: (string | { label: string })[], { title }: { title: string }) => answer(title, (given) => items.find((item) => (typeof item === 'string' ? item : item.label) === given)),
  showInputBox: ({ title, validateInput }: { title: string; validateInput?: (text: string) => unknown }) => answer(title, (given) => (validateInput?.(given) ? undefined : given)),
  createStatusBarItem: () => Object.assign(editor.status, { show() {}, hide() {}, dispose() {} }),
  createTreeView: () => open({ dispose() {} }),
  createTerminal({ name, pty }: { name: string; pty: { onDidWrite: EventEmitter<string>['event']; open(): void } }) {
    const terminal = { name, output: '', isOpen: true };
    editor.terminals.push(terminal);
    pty.onDidWrite((text) => (terminal.output += text));
    setImmediate(() => pty.open());
    return { show() {}, dispose: () => (terminal.isOpen = false) };
  },
  registerWebviewViewProvider(name: string, provider: { resolveWebviewView(view: unknown): unknown }): Disposable {
    editor.webviews.set(name, provider);
    return new Disposable(() => {});
  },
});

export const workspace = open({
  workspaceFolders: [] as { uri: Uri; name: string; index: number }[],
  get textDocuments(): Document[] {
    return [...editor.documents.values()];
  },
  onDidOpenTextDocument: documents.opened.event,
  onDidChangeTextDocument: documents.changed.event,
  getWorkspaceFolder: ({ path: name }: Uri) => workspace.workspaceFolders.find(({ uri }) => name === uri.path || name.startsWith(`${uri.path}/`)),
  getConfiguration: (section: string) => ({
    get: (name: string, initial?: unknown) => editor.settings[`${section}.${name}`] ?? initial,
  }),
  onDidChangeConfiguration: editor.settingsChanged.event,
  asRelativePath: ({ path: name }: Uri) => path.basename(name),
  fs: {
    async stat({ fsPath }: Uri) {
      const { size, mtimeMs, ctimeMs } = statSync(fsPath);
      return { type: statSync(fsPath).isDirectory() ? FileType.Directory : FileType.File, size, mtime: mtimeMs, ctime: ctimeMs };
    },
    readFile: ({ fsPath }: Uri) => files.readFile(fsPath),
    writeFile: ({ fsPath }: Uri, content: Uint8Array) => files.writeFile(fsPath, content),
    async readDirectory({ fsPath }: Uri) {
      const entries = await files.readdir(fsPath, { withFileTypes: true });
      return entries.map((entry) => [entry.name, entry.isDirectory() ? FileType.Directory : FileType.File]);
    },
  },
  async openTextDocument(uri: Uri): Promise<Document> {
    const key = uri.toString();
    const known = editor.documents.get(key);
    if (known) return known;
    const document = new Document(uri);
    editor.documents.set(key, document);
    documents.opened.fire(document);
    return document;
  },
  async applyEdit({ steps }: WorkspaceEdit): Promise<boolean> {
    for (const step of steps) await step();
    return true;
  },
});

export enum FileType {
  Unknown,
  File,
  Directory,
}

export enum ProgressLocation {
  SourceControl = 1,
  Window = 10,
  Notification = 15,
}

export enum DiagnosticSeverity {
  Error,
  Warning,
  Information,
  Hint,
}

export const CodeActionKind = { QuickFix: 'quickfix' };

export enum StatusBarAlignment {
  Left = 1,
  Right = 2,
}

export enum TreeItemCollapsibleState {
  None,
  Collapsed,
  Expanded,
}

/** Secrets of the editor, or its state, in memory. */
export class Stored {
  readonly #values = new Map<string, unknown>();
  readonly #changed = new EventEmitter<{ key: string }>();
  readonly onDidChange = this.#changed.event;

  async store(key: string, value: unknown): Promise<void> {
    this.#values.set(key, value);
    this.#changed.fire({ key });
  }

  readonly update = (key: string, value: unknown): Promise<void> => this.store(key, value);

  get(key: string): unknown {
    return this.#values.get(key);
  }

  async delete(key: string): Promise<void> {
    this.#values.delete(key);
    this.#changed.fire({ key });
  }
}
