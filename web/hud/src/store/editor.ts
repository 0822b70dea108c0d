import type { Attachment } from "./drafts.ts";

/** A block of code in a reply, with the texts that can name its file. */
export interface CodeBlock {
  text: string;
  /** The rest of the line that opens the block, after its fence. */
  info: string;
  /** The last line of the text before the block, "" for none. */
  before: string;
}

/** Something in the editor that a prompt can mention, such as a selection, a symbol or problems. */
export interface Mention {
  /** The text after the @, without blanks. */
  label: string;
  /** A few words about it. */
  detail: string;
  attachment: Attachment;
}

/** The kinds of mentions: `context` is found at once, `symbols` may take a second. */
export type MentionKind = "context" | "symbols";

/** Editor is the editor that shows the page, for what only an editor can do. */
export interface Editor {
  insertCode: (text: string) => void;
  applyCode: (block: CodeBlock) => void;
  /** Shows what a call would change. */
  openDiff: (sessionId: string, toolCallId: string) => void;
  mentions: (kind: MentionKind, query: string) => Promise<readonly Mention[]>;
}

let current: Editor | undefined;

/** useEditor sets the editor, before the page is drawn. A page in a browser has none. */
export const useEditor = (editor: Editor): void => void (current = editor);

/** editorOf returns the editor that shows the page, undefined in a browser. */
export const editorOf = (): Editor | undefined => current;
