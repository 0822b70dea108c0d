import type { RefObject, TargetedClipboardEvent } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { EMPTY, MAX_FILES, additions, attachmentsOf, contentSize, draftOf, keepDraft, type Attachment, type Draft } from "../store/drafts.ts";
import type { SessionView } from "../store/session.ts";
import { reason, toast } from "../store/toasts.ts";
import { bytes } from "../text/format.ts";
import { MAX_ATTACHED, attached, linksOf, pasted, useDrop } from "./attaching.ts";
import { plainText } from "./rows.ts";

/** Maximum characters in the box of the prompt after a paste: a browser takes seconds to lay out more. A longer paste is attached. */
const MAX_TYPED = 50_000;

/** A paste of at most this many characters stays in the text, however long that is. */
const MIN_ATTACHED = 1000;

/** Drafting is the prompt in the form: the draft of the session, or the edit of an earlier prompt, which leaves the draft as it is. */
export interface Drafting {
  prompt: Draft;
  setText: (text: string) => void;
  /** Adds attachments, each file once, as far as the limits allow. */
  add: (more: readonly Attachment[]) => void;
  remove: (file: Attachment) => void;
  /** Adds a prompt to the draft, after what is there. */
  append: (prompt: Draft) => void;
  /** Ends the edit of an earlier prompt, which gives the draft back, or empties the draft. */
  leave: () => void;
  paste: (event: TargetedClipboardEvent<HTMLTextAreaElement>) => void;
  /** Files are dragged over the page. */
  isDropping: boolean;
}

/** useDrafting keeps the prompt of a session's form. The focus goes to the box for the edit of an earlier prompt. */
export function useDrafting(view: SessionView, box: RefObject<HTMLTextAreaElement | null>): Drafting {
  const [draft, draftNow, setDraft] = useLatest(() => draftOf(view.id));
  const [edit, editNow, setEdit] = useLatest(() => EMPTY);
  const edited = view.editing.value;
  const now = edited ? editNow : draftNow;
  const set = edited ? setEdit : setDraft;

  const kept = useRef(draft);
  useEffect(() => {
    if (draft !== kept.current) keepDraft(view.id, draft);
    kept.current = draft;
  }, [view, draft]);
  useEffect(() => {
    if (!edited) return;
    setEdit({ text: plainText(edited.message), files: attachmentsOf(edited.message.blocks) });
    box.current?.focus();
  }, [edited]);

  const add = (more: readonly Attachment[]): void => {
    const { draft, refused } = withFiles(now(), more);
    set(draft);
    for (const { name } of refused) toast(`Cannot attach ${name}: a prompt has at most ${MAX_FILES} files and ${bytes(MAX_ATTACHED)}`, { bad: true });
  };
  const read = (from: readonly File[]): void => {
    for (const file of from.slice(0, MAX_FILES)) attached(file).then((one) => add([one]), (error: unknown) => toast(`Cannot attach ${file.name}: ${reason(error)}`, { bad: true }));
  };
  const drop = useCallback((dragged: DataTransfer) => (dragged.files.length > 0 ? read([...dragged.files]) : add(linksOf(dragged))), [set]);
  const append = ({ text, files }: Draft): void => {
    const before = draftNow();
    setDraft(withFiles({ ...before, text: [before.text, text].filter((t) => t.trim() !== "").join("\n\n") }, files).draft);
  };
  const added = additions.value.filter((a) => a.session === view.id);
  useEffect(() => {
    if (added.length === 0) return;
    additions.value = additions.peek().filter((a) => !added.includes(a));
    for (const { draft } of added) append(draft);
    box.current?.focus();
  }, [additions.value]);
  return {
    prompt: edited ? edit : draft,
    setText: (text) => set({ ...now(), text }),
    add,
    remove: (file) => set({ ...now(), files: now().files.filter((f) => f !== file) }),
    append,
    leave: () => {
      set(EMPTY);
      view.editing.value = null;
    },
    paste: (event) => {
      const { clipboardData } = event;
      const text = clipboardData?.getData("text/plain") ?? ""; // a text has a picture too if it comes from an office program
      const isLong = text.length + now().text.length > MAX_TYPED && text.length > MIN_ATTACHED;
      if (!clipboardData || (text === "" ? clipboardData.files.length === 0 : !isLong)) return;
      event.preventDefault();
      read(isLong ? [pasted(text)] : [...clipboardData.files]);
    },
    isDropping: useDrop(drop),
  };
}

/** useLatest is a state whose newest value can be read before the next drawing, as when several files arrive. */
function useLatest<T>(initial: () => T): [value: T, now: () => T, set: (value: T) => void] {
  const [value, setValue] = useState(initial);
  const latest = useRef(value);
  const now = useCallback(() => latest.current, []);
  const set = useCallback((next: T) => {
    latest.current = next;
    setValue(() => next);
  }, []);
  return [value, now, set];
}

/** withFiles returns a draft with more attachments, each file once, as far as the limits allow, and the others. */
function withFiles(draft: Draft, more: readonly Attachment[]): { draft: Draft; refused: readonly Attachment[] } {
  const files = [...draft.files];
  const refused: Attachment[] = [];
  let size = files.reduce((sum, f) => sum + contentSize(f), 0);
  for (const file of more) {
    const { block } = file;
    if (block.type === "resource_link" && files.some((f) => f.block.type === "resource_link" && f.block.uri === block.uri)) continue;
    if (files.length < MAX_FILES && size + contentSize(file) <= MAX_ATTACHED) {
      files.push(file);
      size += contentSize(file);
    } else refused.push(file);
  }
  return { draft: { ...draft, files }, refused };
}
