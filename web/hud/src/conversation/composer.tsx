import type { ContentBlock } from "@strata/client";
import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { failed } from "../store/toasts.ts";
import { count, fileURI, short } from "../text/format.ts";
import { PutBack } from "../review/put-back.tsx";
import { IconButton } from "../ui/controls.tsx";
import { useFetched } from "../ui/fetched.tsx";
import { Icon } from "../ui/icons.tsx";
import { isComposing, sendKeys, sends } from "../ui/sending.ts";
import { CompletionList, completes, insert, useCompletion } from "./completion.tsx";
import { Options } from "./options.tsx";
import { draftOf, editing, keepDraft, type Attachment } from "./draft.ts";
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
  const label = `${count(budget.used)} of ${count(budget.maxInputTokens)} tokens${stale ? ", not up to date" : ""}`;
  const classes = `meter${stale ? " stale" : ""}${budget.percentUsed >= NEARLY_FULL ? " full" : ""}`;
  return (
    <span class={classes} title={label} data-used={budget.used}>
      <progress class="progress" aria-label={`Context window: ${label}`} value={Math.min(budget.used, budget.maxInputTokens)} max={budget.maxInputTokens} />
      {short(budget.used)} of {short(budget.maxInputTokens)}
    </span>
  );
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
  const [text, setText] = useState(() => draftOf(view.id).text);
  const [files, setFiles] = useState<readonly Attachment[]>(() => draftOf(view.id).files);
  const [putBack, setPutBack] = useState(false); // files, with the edited prompt
  const box = useRef<HTMLTextAreaElement>(null);
  const edited = editing.value;

  useEffect(() => keepDraft(view.id, text, files), [view, text, files]);
  useEffect(() => {
    if (!edited) return;
    setText(plainText(edited.message));
    setFiles(edited.message.blocks.flatMap((b) => (b.type === "resource_link" ? [{ name: b.name ?? b.uri, uri: b.uri }] : [])));
    box.current?.focus();
  }, [edited]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [text]);

  const attach = (path: string): void => {
    const uri = fileURI(view.cwd.value, path);
    setFiles((now) => (now.some((f) => f.uri === uri) ? now : [...now, { name: path, uri }]));
  };
  const completion = useCompletion({ view, field: box, text, commands: !edited, attach });

  const running = view.busy.value;
  const [stopsNext, setStopsNext] = useStopsNext(view);
  const canSend = !running && isOpen.value && text.trim() !== "";

  const endEditing = (): void => {
    editing.value = null;
    setText("");
    setFiles([]);
  };

  const send = (): void => {
    if (!canSend) return;
    const blocks: ContentBlock[] = [{ type: "text", text }, ...files.map((f) => ({ type: "resource_link" as const, ...f }))];
    const sent = edited ? view.promptInstead(edited.message.id, blocks, undefined, putBack) : view.prompt(blocks);
    sent.catch(failed("Cannot send the prompt"));
    endEditing();
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
    if (edited) endEditing();
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
    <form class="composer" aria-label="Prompt" onSubmit={(e) => { e.preventDefault(); send(); }}>
      {edited && (
        <div class="composer-note">
          Sending replaces the earlier prompt and removes later messages from the view.
          <button type="button" class="link" onClick={endEditing}>Cancel edit</button>
          <PutBack key={edited.message.id} view={view} target={{ beforeMessageId: edited.message.id }} checked={putBack} onChange={setPutBack} />
        </div>
      )}
      {files.length > 0 && (
        <ul class="chips" aria-label="Attached files">
          {files.map((f) => (
            <li key={f.uri} class="chip">
              <Icon name="file" />
              {f.name}
              <IconButton icon="close" label={`Remove ${f.name}`} onClick={() => setFiles(files.filter((g) => g !== f))} />
            </li>
          ))}
        </ul>
      )}
      <CompletionList completion={completion} />
      <textarea ref={box} id="prompt" rows={1} value={text} placeholder="Ask, or type @ to attach a file" aria-label="Prompt" {...completes(completion)}
        onInput={(e) => { setText(e.currentTarget.value); completion.typed(e.currentTarget.value, e.currentTarget.selectionStart); }}
        onKeyDown={keys} onKeyUp={(e) => completion.moved(e.currentTarget.selectionStart)}
        onClick={(e) => completion.moved(e.currentTarget.selectionStart)} onBlur={completion.close} />
      <div class="composer-bar">
        <IconButton icon="attach" label="Attach file (@)" onClick={mention} />
        <Options view={view} />
        <span class="composer-hint" role="status">{running && stopsNext ? "Press Escape again to stop the reply" : ""}</span>
        <Meter view={view} />
        {running ? (
          <button type="button" class="send stop" aria-label="Stop reply" title="Stop reply (Escape twice)" onClick={() => view.cancel()}>
            <Icon name="stop" />
          </button>
        ) : (
          <button type="submit" class="send" aria-label="Send prompt" title={`Send prompt (${sendKeys().join("+")})`} disabled={!canSend}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
