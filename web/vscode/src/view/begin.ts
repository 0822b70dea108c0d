import type { Client, ConnectOptions } from '@strata/client';
import { useWorker } from '../../../hud/src/code/colors.ts';
import { live } from '../../../hud/src/live.ts';
import { useEditor } from '../../../hud/src/store/editor.ts';
import { keepPlacesIn } from '../../../hud/src/store/places.ts';
import { THEME_CHANGED } from '../../../hud/src/ui/media.ts';
import { RemoteClient } from '../channel/remote.ts';
import { channel } from './channel.ts';
import { editor } from './editor.ts';
import { places } from './state.ts';
import { workerFrom } from './worker.ts';

const script = document.querySelector<HTMLScriptElement>('script[data-worker]');

/** The address of the HUD at which the editor lets the page begin. */
export const givenAddress = script?.dataset.address ?? '';

/** begin prepares what all pages need from the editor, before they are drawn. */
export function begin(): void {
  keepPlacesIn(places);
  useEditor(editor);
  void workerFrom(script?.dataset.worker).then(useWorker, () => {}); // without it, code has no colors
  new MutationObserver(() => dispatchEvent(new Event(THEME_CHANGED))).observe(document.body, { attributeFilter: ['class', 'data-vscode-theme-id'] });
}

/** connectPage connects a page that is drawn with the client of the extension host. */
export const connectPage = (): void => live((options: ConnectOptions): Promise<Client> => RemoteClient.connect(channel, options));

/** onLink calls a function for each followed link to an address of the HUD, before the editor, which takes such links for places of the document. */
export function onLink(follow: (address: string, event: MouseEvent) => void): void {
  const clicked = (event: MouseEvent): void => {
    const link = event.target instanceof Element ? event.target.closest('a[href^="#/"]') : null;
    if (!link) return;
    event.preventDefault();
    event.stopPropagation();
    follow(link.getAttribute('href') ?? '', event);
  };
  addEventListener('click', clicked, { capture: true });
  addEventListener('auxclick', clicked, { capture: true });
}
