import { signal } from "@preact/signals";
import type { Block, ContentBlock } from "@strata/client";
import { base } from "../text/format.ts";
import { MAX_CHARS, names, recall, remember } from "./remembered.ts";

/** A file, picture or text that goes with a prompt. */
export interface Attachment {
  name: string;
  block: Exclude<ContentBlock, { type: "text" }>;
}

/** A prompt that is not sent. */
export interface Draft {
  text: string;
  files: readonly Attachment[];
}

export const EMPTY: Draft = { text: "", files: [] };

/** What something other than the form adds to the drafts of sessions. The form of the session takes it. */
export const additions = signal<readonly { session: string; draft: Draft }[]>([]);

/** addToDraft adds to the draft of a session, after what is there. */
export function addToDraft(session: string, draft: Draft): void {
  additions.value = [...additions.peek(), { session, draft }];
}

/** Maximum files of a draft. */
export const MAX_FILES = 20;

/** Maximum drafts, and characters of all drafts, that the browser remembers. The oldest are dropped. */
const MAX_DRAFTS = 50;
const MAX_TOTAL = 3 << 20;

/** Maximum characters of the drafts that only this page holds. */
const MAX_HELD = 32 << 20;

/** Time until a change is stored, in milliseconds. A page that is left stores it immediately. */
const STORED_AFTER = 300;

const PREFIX = "draft.";

export const isEmpty = ({ text, files }: Draft): boolean => text === "" && files.length === 0;

/** contentOf returns the content of a prompt. */
export const contentOf = ({ text, files }: Draft): ContentBlock[] =>
  [...(text.trim() === "" ? [] : [{ type: "text" as const, text }]), ...files.map((f) => f.block)];

/** contentSize returns the characters of an attachment's content. */
export const contentSize = ({ block }: Attachment): number =>
  block.type === "image" ? block.data.length : block.type === "resource" ? (block.resource.text?.length ?? 0) : 0;

const sizeOf = ({ text, files }: Draft): number => files.reduce((sum, file) => sum + contentSize(file), text.length);

/** canBeSent reports whether a draft says something. Links to files alone say nothing. */
export const canBeSent = ({ text, files }: Draft): boolean => text.trim() !== "" || files.some((f) => f.block.type !== "resource_link");

/** attachmentsOf returns what goes with the text in the blocks of a stored prompt. */
export function attachmentsOf(blocks: readonly Block[]): Attachment[] {
  return blocks.flatMap((b): Attachment[] => {
    if (b.type === "resource_link") return [{ name: b.name ?? b.uri, block: { type: "resource_link", name: b.name ?? b.uri, uri: b.uri } }];
    if (b.type === "image" && b.data && b.mimeType) return [{ name: "Picture", block: { type: "image", data: b.data, mimeType: b.mimeType } }];
    if (b.type === "resource") return [{ name: base(b.uri), block: { type: "resource", resource: { uri: b.uri, text: b.text ?? "" } } }];
    return [];
  });
}

/** The drafts that are not stored whole, by session: those just changed, too large ones, and all if the storage takes none. */
const held = new Map<string, Draft>();
let timer: ReturnType<typeof setTimeout> | undefined;

/** draftOf returns the draft of a session. */
export function draftOf(session: string): Draft {
  return held.get(session) ?? asDraft(recall(PREFIX + session)) ?? EMPTY;
}

/** keepDraft keeps the draft of a session: in this page, and soon in the storage of the browser. */
export function keepDraft(session: string, draft: Draft): void {
  held.delete(session);
  held.set(session, draft);
  timer ??= setTimeout(store, STORED_AFTER);
}

addEventListener("pagehide", store);

function store(): void {
  clearTimeout(timer);
  timer = undefined;
  for (const [session, draft] of held) {
    if (storeOne(PREFIX + session, draft)) held.delete(session);
  }
  let total = [...held.values()].reduce((sum, draft) => sum + sizeOf(draft), 0);
  for (const [session, draft] of held) {
    if (held.size <= MAX_DRAFTS && total <= MAX_HELD) break;
    held.delete(session);
    total -= sizeOf(draft);
  }
}

/** storeOne stores a draft, of a large one the text and the links, and reports whether it is stored whole. Older drafts give way. */
function storeOne(name: string, draft: Draft): boolean {
  if (isEmpty(draft)) return remember(name, undefined);
  const isWhole = sizeOf(draft) < MAX_CHARS;
  const value = { at: Date.now(), ...draft, files: isWhole ? draft.files : draft.files.filter((f) => f.block.type === "resource_link") };
  const chars = JSON.stringify(value).length;
  if (chars > MAX_CHARS) {
    remember(name, undefined);
    return false;
  }
  if (recall(name) !== undefined && remember(name, value)) return isWhole;
  const older = olderThan(name);
  while (older.length >= MAX_DRAFTS || older.reduce((sum, o) => sum + o.chars, 0) > MAX_TOTAL) drop(older);
  for (let freed = 0; !remember(name, value); freed += drop(older)) {
    if (older.length === 0 || freed > 2 * chars) return false; // something else fills the storage
  }
  return isWhole;
}

interface Stored {
  name: string;
  at: number;
  chars: number;
}

/** olderThan returns the other stored drafts, oldest first. Values that are no drafts are the oldest. */
function olderThan(name: string): Stored[] {
  return names(PREFIX).filter((n) => n !== name).map((n) => {
    const value = recall(n) as { at?: unknown } | null | undefined;
    return { name: n, at: typeof value?.at === "number" ? value.at : 0, chars: JSON.stringify(value ?? "").length };
  }).sort((a, b) => a.at - b.at);
}

/** drop removes the oldest stored draft and returns its size. */
function drop(older: Stored[]): number {
  const oldest = older.shift();
  if (oldest) remember(oldest.name, undefined);
  return oldest?.chars ?? 0;
}

/** asDraft returns a value as a draft, undefined if it is none. */
export function asDraft(value: unknown): Draft | undefined {
  const { text, files } = (value ?? {}) as Record<string, unknown>;
  if (typeof text !== "string" || !Array.isArray(files)) return undefined;
  return { text, files: files.slice(0, MAX_FILES).flatMap(asAttachment) };
}

function asAttachment(value: unknown): Attachment[] {
  const { name, block } = (value ?? {}) as Record<string, unknown>;
  const { type, uri, data, mimeType, resource } = (block ?? {}) as Record<string, unknown>;
  if (typeof name !== "string") return [];
  if (type === "resource_link" && typeof uri === "string") return [{ name, block: { type, name, uri } }];
  if (type === "image" && typeof data === "string" && typeof mimeType === "string") return [{ name, block: { type, data, mimeType } }];
  const { uri: of, text } = (resource ?? {}) as Record<string, unknown>;
  return type === "resource" && typeof of === "string" && typeof text === "string" ? [{ name, block: { type, resource: { uri: of, text } } }] : [];
}
