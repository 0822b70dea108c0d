import { effect, untracked } from '@preact/signals';
import type { Client, ConnectOptions } from '@strata/client';
import { render } from 'preact';
import { useWorker } from '../../../hud/src/code/colors.ts';
import { go, route, sessionAddress } from '../../../hud/src/routes.ts';
import { useEditor } from '../../../hud/src/store/editor.ts';
import { client, isOpen, start } from '../../../hud/src/store/connection.ts';
import { connectionChanged } from '../../../hud/src/store/server.ts';
import { open } from '../../../hud/src/store/session.ts';
import { follow, lost } from '../../../hud/src/store/sessions.ts';
import { failed } from '../../../hud/src/store/toasts.ts';
import { RemoteClient } from '../channel/remote.ts';
import { channel, perform } from './channel.ts';
import { Chat } from './chat.tsx';
import { addToDraft } from './draft.ts';
import { editor } from './editor.ts';
import { workerFrom } from './worker.ts';

channel.onMessage((message) => {
  if (message.type === 'show') go(message.sessionId === null ? '#/' : sessionAddress(message.sessionId), { replace: true });
  if (message.type === 'draft') addToDraft(message.text, message.files);
});

/** Links within the HUD lead to pages that this view has not: the editor opens them in the HUD. */
addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a[href^="#/"]') : null;
  if (!link) return;
  event.preventDefault();
  event.stopPropagation();
  perform({ kind: 'hud', address: link.getAttribute('href') ?? '' });
}, { capture: true });

useEditor(editor);
const root = document.getElementById('hud');
if (root) render(<Chat />, root);
void workerFrom(document.querySelector<HTMLScriptElement>('script[data-worker]')?.dataset.worker).then(useWorker, () => {}); // without it, code has no colors

effect(() => {
  const now = isOpen.value;
  untracked(() => {
    connectionChanged(now);
    if (!now) lost();
  });
});
effect(() => {
  if (client.value) untracked(follow).catch(failed('The session list no longer updates'));
});
effect(() => {
  const here = route.value;
  if (client.value) untracked(() => open(here.page === 'session' ? here.id : null));
});
void start((options: ConnectOptions): Promise<Client> => RemoteClient.connect(channel, options));
