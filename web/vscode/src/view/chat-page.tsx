import { render } from 'preact';
import { go, sessionAddress } from '../../../hud/src/routes.ts';
import { begin, connectPage, onLink } from './begin.ts';
import { channel, perform } from './channel.ts';
import { Chat } from './chat.tsx';
import { addToDraft } from './draft.ts';
import { focusPrompt } from './focus.ts';

channel.onMessage((message) => {
  if (message.type === 'show') go(message.sessionId === null ? '#/' : sessionAddress(message.sessionId), { replace: true });
  if (message.type === 'draft') addToDraft(message.text, message.files);
  if (message.type === 'focus' && !document.hasFocus()) focus();
});
onLink((address) => perform({ kind: 'hud', address })); // links lead to pages that the chat has not

begin();
const root = document.getElementById('hud');
if (root) render(<Chat />, root);
focusPrompt();
connectPage();
