import type { TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Draft } from "../store/drafts.ts";
import type { SessionView } from "../store/session.ts";
import { count, fileURI, plural, short } from "../text/format.ts";
import { PutBack } from "../review/put-back.tsx";
import { Cut } from "../ui/cut.tsx";
import { IconButton } from "../ui/controls.tsx";
import { useFetched } from "../ui/fetched.tsx";
import { Icon } from "../ui/icons.tsx";
import { isComposing, sendKeys, sends } from "../ui/sending.ts";
import { CompletionList, completes, insert, useCompletion } from "./completion.tsx";
import { DraftLine, useMeasured } from "./draft-line.tsx";
import { useDrafting } from "./drafting.ts";
import { Options } from "./options.tsx";
import { usePrompting } from "./prompting.ts";
import { QueueView } from "./queued.tsx";
import { Pace } from "./pace.tsx";
import { Warmth } from "./warmth.tsx";

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

/** The prompt form: text, files, options, and the button that sends the prompt or stops the reply. */
export function Composer({ view }: { view: SessionView }) {
  const [putBack, setPutBack] = useState(false); // files, with the edited prompt
  const box = useRef<HTMLTextAreaElement>(null);
  const drafting = useDrafting(view, box);
  const { queue, running, canSend, canQueue, send, stopsNext, escape } = usePrompting(view, drafting, putBack);
  const edited = view.editing.value;
  const { text, files } = drafting.prompt;

  useMeasured(view, edited ? null : drafting.prompt);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [text]);

  const attach = (path: string): void => drafting.add([{ name: path, block: { type: "resource_link", name: path, uri: fileURI(view.cwd.value, path) } }]);
  const completion = useCompletion({ view, field: box, text, commands: !edited, attach, mention: (attachment) => drafting.add([attachment]) });

  const takeBack = (queued: Draft): void => {
    drafting.append(queued);
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
      if (!escape()) box.current?.blur();
    }
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
    <form class={drafting.isDropping ? "composer dropping" : "composer"} aria-label="Prompt" onSubmit={(e) => { e.preventDefault(); send(); }}>
      {edited && (
        <div class="composer-note">
          Sending replaces the earlier prompt and removes later messages from the view.
          <button type="button" class="link" onClick={drafting.leave}>Cancel edit</button>
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
              <IconButton icon="close" label={`Remove ${f.name}`} onClick={() => { drafting.remove(f); box.current?.focus(); }} />
            </li>
          ))}
        </ul>
      )}
      <CompletionList completion={completion} />
      <textarea ref={box} id="prompt" dir="auto" rows={1} value={text} placeholder="Ask, or type @ to attach a file" aria-label="Prompt" {...completes(completion)}
        onInput={(e) => { drafting.setText(e.currentTarget.value); completion.typed(e.currentTarget.value, e.currentTarget.selectionStart); }}
        onKeyDown={keys} onKeyUp={(e) => completion.moved(e.currentTarget.selectionStart)}
        onClick={(e) => completion.moved(e.currentTarget.selectionStart)} onBlur={completion.close} onPaste={drafting.paste} />
      <div class="composer-bar">
        <IconButton icon="attach" label="Attach file (@)" onClick={mention} />
        <Options view={view} />
        <span class="composer-hint" role="status">{stopsNext ? "Press Escape again to stop the reply" : ""}</span>
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
      <div class="composer-foot"><DraftLine view={view} /><Pace view={view} /><Warmth view={view} /></div>
    </form>
  );
}
