import { connect, ConnectionLost, RpcError, serveWorkspace, TextFiles } from '@strata/client';
import type { Client, ConnectionState, RequestHandler, SessionEvent, SessionHandle } from '@strata/client';
import { javascript } from '@codemirror/lang-javascript';
import { syntaxHighlighting } from '@codemirror/language';
import { diff, unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { classHighlighter } from '@lezer/highlight';
import { basicSetup, EditorView } from 'codemirror';
import { FOLDER, PROJECT } from './project';

const $ = <T extends HTMLElement = HTMLElement>(selector: string): T => document.querySelector<T>(selector)!;
const make = (tag: string, className: string, textContent = ''): HTMLElement =>
  Object.assign(document.createElement(tag), { className, textContent }); // texts of the server are never used as HTML
const store = sessionStorage; // of this tab, until it is closed: the files, the session, the address and the token

// The files. The server reads and changes `files`; each file has a state of the editor, with its own undo history.
const files = new TextFiles(JSON.parse(store['files'] ?? 'null') ?? PROJECT);
const states = new Map<string, EditorState>();
const view = new EditorView({ parent: $('#editor') });
let shown = '';
const look = (path: string) => [path.endsWith('.js') ? javascript() : [], syntaxHighlighting(classHighlighter),
  EditorView.darkTheme.of(matchMedia('(prefers-color-scheme: dark)').matches), EditorView.lineWrapping];
const stateOf = (path: string, doc: string) => EditorState.create({ doc, extensions: [basicSetup, look(path),
  EditorView.contentAttributes.of({ 'aria-label': path }), EditorView.updateListener.of(({ state }) => {
    if (files.read(path) !== state.doc.toString()) files.write(path, state.doc.toString());
    $('#about').textContent = link().name;
  })] });

files.onChange = (path) => {
  const text = files.read(path)?.replace(/\r\n?/g, '\n');
  const state = path === shown ? view.state : states.get(path);
  if (text === undefined) states.delete(path);
  else if (!state) states.set(path, stateOf(path, text));
  else if (text !== state.doc.toString()) {
    const changes = diff(`${state.doc}`, text).map((d) => ({ from: d.fromA, to: d.toA, insert: text.slice(d.fromB, d.toB) }));
    if (path === shown) view.dispatch({ changes, userEvent: 'strata' });
    else states.set(path, state.update({ changes, userEvent: 'strata' }).state);
  }
  show(states.has(shown) ? shown : [...states.keys()][0] ?? '');
  store['files'] = JSON.stringify(Object.fromEntries(files.list().map((file) => [file.path, files.read(file.path)])));
};

function show(path: string): void {
  if (states.has(shown)) states.set(shown, view.state);
  if (path !== shown) view.setState(states.get(shown = path) ?? EditorState.create());
  $('#about').textContent = link().name;
  $('#tabs').replaceChildren(...[...states.keys()].map((name) =>
    Object.assign(make('button', '', name), { ariaCurrent: String(name === path), onclick: () => show(name) })));
}

/** Returns the selected lines as a part of a prompt, or the whole file if nothing is selected. */
function link(): { type: 'resource_link'; uri: string; name: string } {
  const { from, to, empty } = view.state.selection.main;
  const [first, last] = [from, to].map((at) => view.state.doc.lineAt(at).number);
  const lines = empty ? '' : `#L${first}-L${last}`;
  const uri = `file://${[FOLDER, ...shown.split('/').map(encodeURIComponent)].join('/')}${lines}`;
  return { type: 'resource_link', uri, name: shown + lines };
}

// The conversation. It is drawn from the events of the session alone, so it is the same after a reload.
function entry(id: string, className: string): HTMLElement {
  const element = document.getElementById(`entry ${id}`) ?? Object.assign(make('div', className), { id: `entry ${id}` });
  if (!element.parentNode) $('#log').append(element);
  element.scrollIntoView({ block: 'nearest' });
  return element;
}
const note = (text: string): void => entry(`note: ${text}`, 'note').replaceChildren(text);
function add(id: string, role: string, part: { type: string; text?: string; name?: string; callId?: string }): void {
  if (part.type === 'text') entry(id, role).append(part.text ?? '');
  if (part.type === 'resource_link') entry(id, role).append(make('small', '', part.name ?? ''));
  if (part.type === 'tool_call') entry(part.callId!, 'call').append(part.name!);
}

function draw(event: SessionEvent): void {
  if (event.type === 'snapshot') {
    const { messages, running } = event.snapshot;
    $('#log').replaceChildren();
    for (const { id, role, blocks } of messages) for (const block of blocks) add(id, role, block);
    if (running) add(running.messageId, 'assistant', { type: 'text', text: running.text });
    $('#stop').hidden = event.running === null;
    $<HTMLButtonElement>('#send').disabled = false;
  } else if (event.type === 'update') {
    const { update } = event;
    if (update.sessionUpdate === 'user_message_chunk') add(update.messageId, 'user', update.content);
    if (update.sessionUpdate === 'agent_message_chunk') add(update.messageId, 'assistant', update.content);
    if ('toolCallId' in update && update.title) entry(update.toolCallId, 'call').textContent = update.title;
    if ('toolCallId' in update && update.status) entry(update.toolCallId, 'call').dataset['status'] = update.status;
    if (update.sessionUpdate === 'notice') note(update.title);
  } else if (event.type === 'event') {
    if (event.event.type === 'turn_started') $('#stop').hidden = false;
    if (event.event.type === 'turn_finished') $('#stop').hidden = true;
    if (event.event.type === 'turn_finished' && event.event.error) note(event.event.error.message);
  }
}

/** Asks the user whether a call may run, and shows the change that it would make. */
const permission: RequestHandler<'session/request_permission'> = ({ toolCall, options }, { signal }) => new Promise((answer) => {
  const { title, content = [], rawInput } = toolCall;
  const box = $('#questions').appendChild(make('form', ''));
  box.append(make('h2', '', title));
  const isShown = content.some((part) => part.type === 'diff' && !part._meta?.strata?.cut);
  if (!isShown) box.append(make('pre', '', JSON.stringify(rawInput, null, 2)));
  const diffs = content.filter((part) => part.type === 'diff').map(({ path, oldText, newText }) =>
    new EditorView({ parent: box, doc: newText, extensions: [look(path), EditorState.readOnly.of(true),
      unifiedMergeView({ original: oldText ?? '', mergeControls: false })] }));
  const leave = (): void => (diffs.forEach((diff) => diff.destroy()), box.remove());
  for (const { optionId, name, kind } of options) box.append(Object.assign(make('button', kind, name), { type: 'button',
    onclick: () => (leave(), answer({ outcome: { outcome: 'selected', optionId } })) }), ' ');
  signal.onabort = leave; // another client has answered, or the connection has ended
});

// The connection. The client reconnects by itself, unless the server refuses the page.
let client: Client | undefined, session: SessionHandle | undefined, attempt = new AbortController();
async function start(): Promise<void> {
  attempt.abort();
  await client?.close();
  const { signal } = (attempt = new AbortController());
  try {
    client = await connect({ url: store['url'], token: store['token'], signal,
      handlers: { ...serveWorkspace(FOLDER, files), permission }, onState: (state) => signal.aborted || showState(state) });
    session = store['session'] ? client.session(store['session'])
      : await client.newSession({ cwd: FOLDER, _meta: { strata: { workspace: 'client' } } });
    store['session'] = session.id;
    for await (const event of session.watch({ own: true, signal })) draw(event);
  } catch (error) {
    if (error instanceof ConnectionLost && !signal.aborted) return start(); // before there was a session
    if (!(error instanceof RpcError)) return; // showState has said why
    if (!store['session']) return note(error.message);
    delete store['session']; // it was deleted, or belongs to another server
    void start();
  }
}

function showState(state: ConnectionState): void {
  const remedy = state.kind === 'waiting' ? ' Start it with “strata serve”.' : '';
  const problem = 'reason' in state && `Not connected: ${state.reason}.${remedy}`;
  $('#state').textContent = problem || (state.kind === 'open' ? 'Connected' : 'Connecting…');
  $<HTMLDetailsElement>('details').open = 'reason' in state;
}
const [ask, prompt] = [$<HTMLFormElement>('#ask'), $<HTMLTextAreaElement>('#prompt')];
$('details form').onsubmit = ({ target }) => {
  Object.assign(store, Object.fromEntries(new FormData(target as HTMLFormElement))); // url and token
  void start();
};
ask.onsubmit = () => {
  if (!session || prompt.value.trim() === '') return;
  const { result } = session.prompt([{ type: 'text', text: prompt.value }, ...(shown ? [link()] : [])]);
  result.catch((error: Error) => note(error.message));
  ask.reset();
};
prompt.onkeydown = (e) => e.key === 'Enter' && !e.shiftKey && !e.isComposing && (e.preventDefault(), ask.requestSubmit());
$('#stop').onclick = () => session?.cancel();
for (const { path } of files.list()) files.onChange(path);
if (store['token']) void start();
