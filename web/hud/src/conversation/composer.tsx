import type { TargetedClipboardEvent, TargetedKeyboardEvent } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isOpen } from "../store/connection.ts";
import { EMPTY, MAX_FILES, attachmentsOf, canBeSent, contentOf, contentSize, draftOf, keepDraft, type Attachment, type Draft } from "../store/drafts.ts";
import { MAX_QUEUED, queueOf, type Queued } from "../store/prompt-queue.ts";
import type { SessionView } from "../store/session.ts";
import { failed, reason, toast } from "../store/toasts.ts";
import { bytes, count, fileURI, plural, short } from "../text/format.ts";
import { PutBack } from "../review/put-back.tsx";
import { Cut } from "../ui/cut.tsx";
import { IconButton } from "../ui/controls.tsx";
import { useFetched } from "../ui/fetched.tsx";
import { Icon } from "../ui/icons.tsx";
import { isComposing, sendKeys, sends } from "../ui/sending.ts";
import { MAX_ATTACHED, attached, linksOf, useDrop } from "./attaching.ts";
import { CompletionList, completes, insert, useCompletion } from "./completion.tsx";
import { DraftLine, useMeasured } from "./draft-line.tsx";
import { Options } from "./options.tsx";
import { QueueView } from "./queued.tsx";
import { plainText } from "./rows.ts";

/** Maximum time between two presses of Escape that stop the reply, in milliseconds. */
const TWICE_MS = 2000;

/** Percentage of the window that counts as nearly full. */
const NEARLY_FULL = 90;

/** The use of the context window. */
function Meter({ view }: { view: SessionView }) {
  const budget = useFetched(view.budget);
  if (!budget) return null;
  const stale = view.budget.stale.value || view.budget.failure.value !== "";
  const draft = view.draft.figures.value;
  const { used, percentUsed, maxInputTokens } = draft ?? budget;
  const label = `${count(used)} of ${plural(maxInputTokens, "token")}${draft ? ", with the draft" : ""}${stale ? ", not up to date" : ""}`;
  const classes = `meter${stale ? " stale" : ""}${percentUsed >= NEARLY_FULL ? " full" : ""}`;
  return (
    <span class={classes} title={label} data-used={used}>
      <progress class="progress" aria-label={`Context window: ${label}`} value={Math.min(used, maxInputTokens)} max={maxInputTokens} />
      {short(used)} of {short(maxInputTokens)}
    </span>
  );
}

/** withFiles adds attachments to a draft, each file once, as far as the limits allow. */
function withFiles(draft: Draft, more: readonly Attachment[]): Draft {
  const files = [...draft.files];
  let size = files.reduce((sum, f) => sum + contentSize(f), 0);
  for (const file of more) {
    const { block } = file;
    if (block.type === "resource_link" && files.some((f) => f.block.type === "resource_link" && f.block.uri === block.uri)) continue;
    size += contentSize(file);
    if (files.length < MAX_FILES && size <= MAX_ATTACHED) files.push(file);
    else queueMicrotask(() => toast(`Cannot attach ${file.name}: a prompt has at most ${MAX_FILES} files and ${bytes(MAX_ATTACHED)}`, { bad: true }));
  }
  return { ...draft, files };
}

/** useStopsNext returns whether the next Escape stops the reply: after one, for a short time, during the same turn. */
function useStopsNext(view: SessionView): [boolean, (is: boolean) => void] {
  const [is, set] = useState(false);
  const turn = view.running.value?.turnId ?? "";
  useEffect(() => set(false), [view, turn]);
  useEffect(() => {
    if (!is) return;
    const timer = setTimeout(() => set(false), TWICE_MS);
    return () => clearTimeout(timer);
  }, [is]);
  return [is, set];
}

/** The prompt form: text, files, options, and the button that sends the prompt or stops the reply. */
export function Composer({ view }: { view: SessionView }) {
  const [draft, setDraft] = useState(() => draftOf(view.id));
  const [edit, setEdit] = useState(EMPTY); // of an earlier prompt; the draft stays as it is
  const [putBack, setPutBack] = useState(false); // files, with the edited prompt
  const box = useRef<HTMLTextAreaElement>(null);
  const edited = view.editing.value;
  const prompt = edited ? edit : draft;
  const change = edited ? setEdit : setDraft;
  const { text, files } = prompt;

  useMeasured(view, edited ? null : draft);

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
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [text]);

  const add = (more: readonly Attachment[]): void => change((now) => withFiles(now, more));
  const attach = (path: string): void => add([{ name: path, block: { type: "resource_link", name: path, uri: fileURI(view.cwd.value, path) } }]);
  const read = (from: readonly File[]): void => {
    for (const file of from.slice(0, MAX_FILES)) attached(file).then((one) => add([one]), (error: unknown) => toast(`Cannot attach ${reason(error)}`, { bad: true }));
  };
  const isDropping = useDrop(useCallback((dragged: DataTransfer) => (dragged.files.length > 0 ? read([...dragged.files]) : add(linksOf(dragged))), [change]));
  const paste = (event: TargetedClipboardEvent<HTMLTextAreaElement>): void => {
    const { clipboardData } = event;
    if (!clipboardData || clipboardData.files.length === 0 || clipboardData.getData("text/plain") !== "") return; // a text has a picture too if it comes from an office program
    event.preventDefault();
    read([...clipboardData.files]);
  };
  const completion = useCompletion({ view, field: box, text, commands: !edited, attach });

  const running = view.busy.value;
  const [stopsNext, setStopsNext] = useStopsNext(view);
  const canQueue = running && !edited && canBeSent(prompt);
  const canSend = !running && isOpen.value && canBeSent(prompt);
  const queue = queueOf(view.id);

  /** Ends the edit of an earlier prompt, which gives the draft back, or empties the draft. */
  const leave = (): void => {
    change(EMPTY);
    view.editing.value = null;
  };

  const send = (): void => {
    if (canQueue) {
      if (queue.add(prompt)) leave();
      else toast(`Cannot queue the prompt: the queue has ${MAX_QUEUED} prompts`, { bad: true });
    }
    if (!canSend) return;
    const blocks = contentOf(prompt);
    const sent = edited ? view.promptInstead(edited.message.id, blocks, undefined, putBack) : view.prompt(blocks);
    sent.catch(failed("Cannot send the prompt"));
    leave();
  };

  /** Takes a queued prompt back into the form, after what is there. */
  const takeBack = ({ text: queued, files: more }: Queued): void => {
    setDraft((now) => withFiles({ ...now, text: [now.text, queued].filter((t) => t.trim() !== "").join("\n\n") }, more));
    box.current?.focus();
  };

  const keys = (event: TargetedKeyboardEvent<HTMLTextAreaElement>): void => {
    if (isComposing(event)) return;
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey && completion.key(event.key)) {
      event.preventDefault();
      event.stopPropagation();
    } else if (sends(event)) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      escape();
    }
  };

  /** Escape cancels one thing at a time. Only a second press stops a reply. */
  const escape = (): void => {
    if (edited) leave();
    else if (running && stopsNext) view.cancel();
    else if (running) setStopsNext(true);
    else box.current?.blur();
  };

  /** Begins a path at the caret, as if an @ were typed. */
  const mention = (): void => {
    const element = box.current;
    if (!element) return;
    const before = text.slice(0, element.selectionStart);
    if (before.endsWith("@")) element.focus();
    else insert(element, element.selectionStart, element.selectionEnd, before === "" || /\s$/.test(before) ? "@" : " @");
    completion.typed(element.value, element.selectionStart);
  };

  return (
    <form class={isDropping ? "composer dropping" : "composer"} aria-label="Prompt" onSubmit={(e) => { e.preventDefault(); send(); }}>
      {edited && (
        <div class="composer-note">
          Sending replaces the earlier prompt and removes later messages from the view.
          <button type="button" class="link" onClick={leave}>Cancel edit</button>
          <PutBack key={edited.message.id} view={view} target={{ beforeMessageId: edited.message.id }} checked={putBack} onChange={setPutBack} />
        </div>
      )}
      <QueueView queue={queue} onEdit={takeBack} />
      {files.length > 0 && (
        <ul class="chips" aria-label="Attached files">
          {files.map((f, i) => (
            <li key={i} class="chip">
              {f.block.type === "image" ? <img class="thumb" alt="" src={`data:${f.block.mimeType};base64,${f.block.data}`} /> : <Icon name="file" />}
              <bdi class="cut" title={f.name}><Cut text={f.name} /></bdi>
              <IconButton icon="close" label={`Remove ${f.name}`} onClick={() => { change((now) => ({ ...now, files: now.files.filter((g) => g !== f) })); box.current?.focus(); }} />
            </li>
          ))}
        </ul>
      )}
      <CompletionList completion={completion} />
      <textarea ref={box} id="prompt" dir="auto" rows={1} value={text} placeholder="Ask, or type @ to attach a file" aria-label="Prompt" {...completes(completion)}
        onInput={(e) => { const { value } = e.currentTarget; change((now) => ({ ...now, text: value })); completion.typed(e.currentTarget.value, e.currentTarget.selectionStart); }}
        onKeyDown={keys} onKeyUp={(e) => completion.moved(e.currentTarget.selectionStart)}
        onClick={(e) => completion.moved(e.currentTarget.selectionStart)} onBlur={completion.close} onPaste={paste} />
      <DraftLine view={view} />
      <div class="composer-bar">
        <IconButton icon="attach" label="Attach file (@)" onClick={mention} />
        <Options view={view} />
        <span class="composer-hint" role="status">{running && stopsNext ? "Press Escape again to stop the reply" : ""}</span>
        <Meter view={view} />
        {running && (
          <button type="button" class="send stop" aria-label="Stop reply" title="Stop reply (Escape twice)" onClick={() => view.cancel()}>
            <Icon name="stop" />
          </button>
        )}
        {(!running || canQueue) && (
          <button type="submit" class="send" aria-label={running ? "Queue prompt" : "Send prompt"} title={`${running ? "Queue" : "Send"} prompt (${sendKeys().join("+")})`} disabled={!canSend && !canQueue}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
