import type { AvailableCommand, ContentBlock } from "@strata/client";
import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { failed } from "../store/toasts.ts";
import { count, fileURI, plural, short } from "../text/format.ts";
import { PutBack } from "../review/put-back.tsx";
import { IconButton } from "../ui/controls.tsx";
import { useFetched } from "../ui/fetched.tsx";
import { Icon } from "../ui/icons.tsx";
import { CommandList, matching, typed } from "./commands.tsx";
import { Options } from "./options.tsx";
import { draftOf, editing, keepDraft, type Attachment } from "./draft.ts";
import { FilePicker } from "./file-picker.tsx";
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
  const label = `${count(budget.used)} of ${plural(budget.maxInputTokens, "token")}${stale ? ", not up to date" : ""}`;
  const classes = `meter${stale ? " stale" : ""}${budget.percentUsed >= NEARLY_FULL ? " full" : ""}`;
  return (
    <span class={classes} title={label} data-used={budget.used}>
      <progress class="progress" aria-label={`Context window: ${label}`} value={Math.min(budget.used, budget.maxInputTokens)} max={budget.maxInputTokens} />
      {short(budget.used)} of {short(budget.maxInputTokens)}
    </span>
  );
}

/** The prompt form: text, files, options, and the button that sends the prompt or stops the reply. */
export function Composer({ view }: { view: SessionView }) {
  const [text, setText] = useState(() => draftOf(view.id).text);
  const [files, setFiles] = useState<readonly Attachment[]>(() => draftOf(view.id).files);
  const [picking, setPicking] = useState(false);
  const [stopHint, setStopHint] = useState(0);
  const [marked, setMarked] = useState({ text: "", at: 0 }); // the command that the list marks for a text
  const [putBack, setPutBack] = useState(false); // files, with the edited prompt
  const [closed, setClosed] = useState(""); // the text for which the list of commands was closed
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

  const suggested = edited || closed === text ? [] : matching(text, view.commands.value);
  const chosen = marked.text === text ? marked.at : 0;

  const running = view.busy.value;
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

  const complete = (command: AvailableCommand): void => {
    setText(typed(command));
    setClosed(typed(command));
    box.current?.focus();
  };

  /** Handles the keys of the list of commands, and reports whether the key was one. */
  const choose = (key: string): boolean => {
    const command = suggested[chosen];
    if (!command) return false;
    if (key === "ArrowDown") setMarked({ text, at: Math.min(chosen + 1, suggested.length - 1) });
    else if (key === "ArrowUp") setMarked({ text, at: Math.max(chosen - 1, 0) });
    else if (key === "Enter" || key === "Tab") complete(command);
    else if (key === "Escape") setClosed(text);
    else return false;
    return true;
  };

  const keys = (event: TargetedKeyboardEvent<HTMLTextAreaElement>): void => {
    if (!event.ctrlKey && !event.metaKey && choose(event.key)) {
      event.preventDefault();
      event.stopPropagation();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
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

  /** Escape cancels one thing at a time. Only a second press stops a reply. */
  const escape = (): void => {
    if (edited) endEditing();
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
      {picking && <FilePicker view={view} onPick={attach} onClose={() => { setPicking(false); box.current?.focus(); }} />}
      {suggested.length > 0 && <CommandList commands={suggested} chosen={chosen} onPick={complete} />}
      <textarea ref={box} id="prompt" dir="auto" rows={1} value={text} placeholder="Ask, or type @ to attach a file"
        aria-label="Prompt" aria-controls={suggested.length > 0 ? "command-list" : undefined}
        aria-activedescendant={suggested.length > 0 ? `command-${chosen}` : undefined} onInput={(e) => setText(e.currentTarget.value)} onKeyDown={keys} />
      <div class="composer-bar">
        <IconButton icon="attach" label="Attach file (@)" onClick={() => setPicking(!picking)} pressed={picking} />
        <Options view={view} />
        <span class="composer-hint" role="status">{running && stopHint > 0 ? "Press Escape again to stop the reply" : ""}</span>
        <Meter view={view} />
        {running ? (
          <button type="button" class="send stop" aria-label="Stop reply" title="Stop reply (Escape twice)" onClick={() => view.cancel()}>
            <Icon name="stop" />
          </button>
        ) : (
          <button type="submit" class="send" aria-label="Send prompt" title="Send prompt (Ctrl+Enter)" disabled={!canSend}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
