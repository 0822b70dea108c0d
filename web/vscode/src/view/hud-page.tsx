import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from '../../../hud/src/app.tsx';
import { listen } from '../../../hud/src/keys.ts';
import { outside } from '../../../hud/src/outside.ts';
import { PRINT } from '../../../hud/src/print/open.ts';
import { go, route, sessionAddress } from '../../../hud/src/routes.ts';
import { current } from '../../../hud/src/store/session.ts';
import { attention } from '../../../hud/src/store/sessions.ts';
import { failed, toast } from '../../../hud/src/store/toasts.ts';
import { followSeen } from '../../../hud/src/store/unread.ts';
import { begin, connectPage, givenAddress, onLink } from './begin.ts';
import { channel, perform } from './channel.ts';
import { rememberAddress, rememberedAddress } from './state.ts';

Object.assign(outside, {
  save: (file: Blob, name: string) => void file.arrayBuffer().then((content) => perform({ kind: 'save', name, content: new Uint8Array(content) }), failed('Cannot save the file')),
  reload: () => perform({ kind: 'reconnect' }), // the editor then loads the page again
  prints: false,
});

channel.onMessage((message) => {
  if (message.type === 'go') go(message.address);
});
onLink((address, event) => (event.ctrlKey || event.metaKey || event.button === 1 ? perform({ kind: 'browser', address }) : go(address)));

begin();
go(rememberedAddress() ?? givenAddress, { replace: true });
const root = document.getElementById('hud');
if (root) render(<App />, root);
listen();
followSeen();

effect(() => {
  const here = route.value;
  if (here.page === 'session' && here.tab === PRINT) return inBrowser(location.hash, sessionAddress(here.id));
  rememberAddress(location.hash);
});
effect(() => {
  const title = current.value?.title.value;
  const waiting = attention.value.size;
  channel.post({ type: 'title', title: (waiting > 0 ? `(${waiting}) ` : '') + (title || 'Strata') });
});
connectPage();

/** inBrowser opens a page in the browser because an editor cannot print, and goes to another one here. */
function inBrowser(address: string, instead: string): void {
  toast('The editor cannot print. The page opens in the browser.');
  perform({ kind: 'browser', address });
  go(instead, { replace: true });
}
