import type { Editor, MentionKind } from '../../../hud/src/store/editor.ts';
import type { Mention } from '../channel/messages.ts';
import { channel, perform } from './channel.ts';

/** The requests for mentions that the extension host has not answered, by id. */
const waiting = new Map<number, (mentions: Mention[]) => void>();
let last = 0;

channel.onMessage((message) => {
  if (message.type !== 'found') return;
  waiting.get(message.id)?.(message.mentions);
  waiting.delete(message.id);
});

const mentions = (kind: MentionKind, query: string): Promise<Mention[]> =>
  new Promise((resolve) => {
    const id = ++last;
    waiting.set(id, resolve);
    channel.post({ type: 'find', id, kind, query });
  });

/** The editor of this page. */
export const editor: Editor = {
  insertCode: (text) => perform({ kind: 'insert', text }),
  applyCode: (block) => perform({ kind: 'apply', block }),
  openDiff: (sessionId, toolCallId) => perform({ kind: 'openDiff', sessionId, toolCallId }),
  mentions,
};
