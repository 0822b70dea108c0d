import { signal } from "@preact/signals";
import type { Entry } from "../store/transcript.ts";

/** The message being edited, null for none. */
export const editing = signal<Entry | null>(null);

/** A file attached to the next prompt. */
export interface Attachment {
  name: string;
  uri: string;
}

/** Maximum number of drafts, one per session. The oldest draft is dropped. */
const MAX_DRAFTS = 50;

const drafts = new Map<string, { text: string; files: readonly Attachment[] }>();

export const draftOf = (session: string): { text: string; files: readonly Attachment[] } => drafts.get(session) ?? { text: "", files: [] };

export function keepDraft(session: string, text: string, files: readonly Attachment[]): void {
  drafts.delete(session);
  if (text === "" && files.length === 0) return;
  drafts.set(session, { text, files });
  const oldest = drafts.keys().next().value;
  if (drafts.size > MAX_DRAFTS && oldest !== undefined) drafts.delete(oldest);
}
