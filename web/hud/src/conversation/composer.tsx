import type { ContentBlock } from "@strata/client";
import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { failed } from "../store/toasts.ts";
import { count, fileURI, short } from "../text/format.ts";
import { IconButton } from "../ui/controls.tsx";
import { useFetched } from "../ui/fetched.tsx";
import { Icon } from "../ui/icons.tsx";
import { Choices } from "./choices.tsx";
import { draftOf, editing, keepDraft, type Attachment } from "./draft.ts";
import { FilePicker } from "./files.tsx";
import { plainText } from "./rows.ts";

/** Within so many milliseconds a second Escape stops the answer. */
const TWICE_MS = 2000;

/** From this share of the window on it is called nearly full, in percent. */
const NEARLY_FULL = 90;

/** How full the window is, as the server counts. */
function Meter({ view }: { view: SessionView }) {
  const budget = useFetched(view.budget);
  if (!budget) return null;
  const stale = view.budget.stale.value || view.budget.failure.value !== "";
  const label = `${count(budget.used)} of ${count(budget.maxInputTokens)} tokens${stale ? ", not up to date" : ""}`;
  const classes = `meter${stale ? " stale" : ""}${budget.percentUsed >= NEARLY_FULL ? " full" : ""}`;
  return (
    <span class={classes} title={label} data-used={budget.used}>
      <progress class="progress" aria-label={`Window: ${label}`} value={Math.min(budget.used, budget.maxInputTokens)} max={budget.maxInputTokens} />
      {short(budget.used)} of {short(budget.maxInputTokens)}
    </span>
  );
}

/** The prompt box: text, files, choices, and the button that sends or stops. */
export function Composer({ view }: { view: SessionView }) {
  const [text, setText] = useState(() => draftOf(view.id).text);
  const [files, setFiles] = useState<readonly Attachment[]>(() => draftOf(view.id).files);
  const [picking, setPicking] = useState(false);
  const [stopHint, setStopHint] = useState(0);
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

  const running = view.busy.value;
  const canSend = !running && isOpen.value && text.trim() !== "";

  const leaveEditing = (): void => {
    editing.value = null;
    setText("");
    setFiles([]);
  };

  const send = (): void => {
    if (!canSend) return;
    const blocks: ContentBlock[] = [{ type: "text", text }, ...files.map((f) => ({ type: "resource_link" as const, ...f }))];
    const sent = edited ? view.promptInstead(edited.message.id, blocks) : view.prompt(blocks);
    sent.catch(failed("The prompt could not be sent"));
    leaveEditing();
  };

  const keys = (event: TargetedKeyboardEvent<HTMLTextAreaElement>): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      send();
    } else if (event.key === "@" && /(^|\s)$/.test(event.currentTarget.value.slice(0, event.currentTarget.selectionStart))) {
      event.preventDefault();
      setPicking(true);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      escape();
    }
  };

  /** Escape leaves one thing at a time, and stops an answer only when pressed twice. */
  const escape = (): void => {
    if (edited) leaveEditing();
    else if (running && Date.now() - stopHint < TWICE_MS) view.cancel();
    else if (running) setStopHint(Date.now());
    else box.current?.blur();
  };

  const attach = (path: string): void => {
    const uri = fileURI(view.cwd.value, path);
    if (!files.some((f) => f.uri === uri)) setFiles([...files, { name: path, uri }]);
    setPicking(false);
    box.current?.focus();
  };

  return (
    <form class="composer" aria-label="Prompt" onSubmit={(e) => { e.preventDefault(); send(); }}>
      {edited && (
        <p class="composer-note">
          Sent again, this takes the place of the earlier prompt; what came after it leaves the view.
          <button type="button" class="link" onClick={leaveEditing}>Cancel</button>
        </p>
      )}
      {files.length > 0 && (
        <ul class="chips" aria-label="Files to send along">
          {files.map((f) => (
            <li key={f.uri} class="chip">
              <Icon name="file" />
              {f.name}
              <IconButton icon="close" label={`Remove ${f.name}`} onClick={() => setFiles(files.filter((g) => g !== f))} />
            </li>
          ))}
        </ul>
      )}
      {picking && <FilePicker view={view} onPick={attach} onClose={() => { setPicking(false); box.current?.focus(); }} />}
      <textarea ref={box} id="prompt" rows={1} value={text} placeholder="Ask, or type @ to attach a file"
        aria-label="Prompt" onInput={(e) => setText(e.currentTarget.value)} onKeyDown={keys} />
      <div class="composer-bar">
        <IconButton icon="attach" label="Attach a file (@)" onClick={() => setPicking(!picking)} pressed={picking} />
        <Choices view={view} />
        <span class="composer-hint" role="status">{running && stopHint > 0 ? "Escape again stops the answer" : ""}</span>
        <Meter view={view} />
        {running ? (
          <button type="button" class="send stop" aria-label="Stop" title="Stop (Escape twice)" onClick={() => view.cancel()}>
            <Icon name="stop" />
          </button>
        ) : (
          <button type="submit" class="send" aria-label="Send" title="Send (Ctrl+Enter)" disabled={!canSend}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
