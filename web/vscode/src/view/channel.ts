import type { Action, FromView, ToView } from '../channel/messages.ts';
import type { Channel } from '../channel/remote.ts';

declare function acquireVsCodeApi(): { postMessage(message: unknown): void; getState(): unknown; setState(state: unknown): void };

/** The editor around this page. Its state is that of the page, and outlives the document. */
export const editor = acquireVsCodeApi();

/** The channel of this page to the extension host. */
export const channel: Channel = {
  post: (message: FromView) => editor.postMessage(message),
  onMessage: (take) => addEventListener('message', (event: MessageEvent<ToView>) => take(event.data)),
};

/** perform asks the editor for something that only it can do. */
export const perform = (action: Action): void => channel.post({ type: 'do', action });
