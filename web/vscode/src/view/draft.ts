import { effect } from '@preact/signals';
import { addToDraft as add, type Draft } from '../../../hud/src/store/drafts.ts';
import { current } from '../../../hud/src/store/session.ts';

/** Additions that wait for a session. */
let waiting: Draft[] = [];

/** addToDraft adds to the draft of the session that is shown, or of the next one. */
export function addToDraft(text: string, files: { name: string; uri: string }[]): void {
  waiting.push({ text, files: files.map(({ name, uri }) => ({ name, block: { type: 'resource_link', name, uri } })) });
  hand();
}

function hand(): void {
  const session = current.peek()?.id;
  if (session === undefined) return;
  for (const draft of waiting.splice(0)) add(session, draft);
}

effect(() => {
  if (current.value) hand();
});
