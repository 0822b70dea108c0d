/**
 * An extension host: it runs the built desktop entry, the first argument, with the editor of vscode.ts, on the folder that is
 * the second one. Each line of its input is an order, whose result is a line of its output.
 */
import Module from 'node:module';
import { createInterface } from 'node:readline';
import type { Client, Methods } from '@strata/client';
import type { FromView, ToView } from '../../src/channel/messages.ts';
import { RemoteClient } from '../../src/channel/remote.ts';
import * as vscode from './vscode.ts';

const { editor } = vscode;

/** The chat: a page that is only its client. It allows all calls. */
class Chat {
  #take: (message: ToView) => void = () => {};
  #send: (message: FromView) => void = () => {};
  client: Promise<Client> = new Promise(() => {});

  readonly view = {
    visible: true,
    show: () => {},
    onDidDispose: () => new vscode.Disposable(() => {}),
    onDidChangeVisibility: () => new vscode.Disposable(() => {}),
    webview: Object.defineProperty(
      {
        options: {},
        cspSource: '',
        asWebviewUri: (uri: vscode.Uri) => uri,
        onDidReceiveMessage: (fn: (message: FromView) => void) => ((this.#send = fn), new vscode.Disposable(() => {})),
        postMessage: async (message: ToView) => void setImmediate(() => this.#take(structuredClone(message))),
      },
      'html',
      { set: () => this.#load() },
    ),
  };

  #load(): void {
    const channel = { post: (message: FromView) => void setImmediate(() => this.#send(structuredClone(message))), onMessage: (take: (message: ToView) => void) => (this.#take = take) };
    this.client = RemoteClient.connect(channel, {
      handlers: { permission: async ({ options }) => ({ outcome: { outcome: 'selected', optionId: options.find(({ kind }) => kind === 'allow_once')!.optionId } }) },
    });
  }
}

const chat = new Chat();

/** The orders of the test. */
const orders = {
  set(settings: Record<string, unknown>) {
    Object.assign(editor.settings, settings);
    editor.settingsChanged.fire({ affectsConfiguration: (name) => Object.keys(settings).some((changed) => changed.startsWith(name)) });
  },
  answer: (...answers: (string | null)[]) => void editor.answers.push(...answers),
  run: (command: string, ...args: unknown[]) => vscode.commands.executeCommand(command, ...args),
  /** Waits until the connection is in a state, and returns what the editor shows. */
  async until(state: string) {
    await holds(editor.contextChanged, () => editor.context['strata.connection'] === state);
    return { text: editor.status.text, tooltip: editor.status.tooltip };
  },
  /** Waits until the editor shows a message or question with a text. */
  asked: (text: string) => holds(editor.asked, () => editor.messages.some((message) => message.includes(text))),
  terminals: () => editor.terminals,
  async call(method: keyof Methods, params: never) {
    return (await chat.client).call(method, params);
  },
  async prompt(sessionId: string, text: string) {
    return (await chat.client).session(sessionId).prompt(text).text();
  },
  async type(name: string, text: string) {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.file(name));
    document.replace(new vscode.Range(new vscode.Position(0, 0), document.positionAt(document.getText().length)), text);
  },
  async document(name: string) {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.file(name));
    return { text: document.getText(), isDirty: document.isDirty };
  },
};

/** Waits until something is true that can become true when an event occurs. */
async function holds(occurs: vscode.EventEmitter<void>, isTrue: () => boolean): Promise<void> {
  while (!isTrue()) {
    await new Promise<void>((resolve) => {
      const subscription = occurs.event(() => {
        subscription.dispose();
        resolve();
      });
    });
  }
}

async function obey(line: string): Promise<void> {
  const [order, ...args] = JSON.parse(line) as [keyof typeof orders, ...never[]];
  let answer: unknown;
  try {
    answer = { result: (await (orders[order] as (...args: never[]) => unknown)(...args)) ?? null };
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

const [, , entry = '', folder = '', settings = '{}'] = process.argv;
editor.settings = JSON.parse(settings) as Record<string, unknown>;
vscode.workspace.workspaceFolders.push({ uri: vscode.Uri.file(folder), name: 'project', index: 0 });

type Load = (request: string, ...more: unknown[]) => unknown;
const loader = Module as unknown as { _load: Load };
const load = loader._load;
loader._load = (request, ...more) => (request === 'vscode' ? vscode : load.call(Module, request, ...more));
const extension = load(entry, module, false) as { activate(context: unknown): void };

extension.activate({ subscriptions: [], extensionUri: vscode.Uri.file('/extension'), secrets: new vscode.Stored(), workspaceState: new vscode.Stored(), globalState: new vscode.Stored() });
void editor.webviews.get('strata.chat')?.resolveWebviewView(chat.view);
createInterface({ input: process.stdin }).on('line', (line) => void obey(line)).on('close', () => process.exit(0));
