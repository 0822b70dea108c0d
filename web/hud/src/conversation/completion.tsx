import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { editorOf } from "../store/editor.ts";
import type { SessionView } from "../store/session.ts";
import { Cut } from "../ui/cut.tsx";
import type { Attachment } from "../store/drafts.ts";
import { commandChoices, mentionChoices, pathChoices, placeAt, type Choice } from "./completing.ts";
import { useFoundMentions } from "./found-mentions.ts";
import { useFoundPaths } from "./found-paths.ts";

/** The completion of a text field in place: a list above the field follows the text, and the field keeps the focus. */
export interface Completion {
  choices: readonly Choice[];
  /** The index of the marked choice. */
  chosen: number;
  /** The list is shown. */
  open: boolean;
  label: string;
  /** What the list says if it has no choices. */
  note: string;
  /** Call after each input, with the text and the caret. */
  typed: (text: string, caret: number) => void;
  /** Call when the caret may have moved: elsewhere it completes nothing. */
  moved: (caret: number) => void;
  /** Handles a key, and reports whether the key was one of the list. */
  key: (key: string) => boolean;
  take: (choice: Choice) => void;
  close: () => void;
}

interface Wanted {
  view: SessionView;
  field: RefObject<HTMLTextAreaElement | null>;
  /** The text of the field. */
  text: string;
  /** Commands are completed too, not only files. */
  commands: boolean;
  /** Called with the path of a file that was taken. */
  attach: (path: string) => void;
  /** Called with what the editor attaches. */
  mention: (attachment: Attachment) => void;
}

/** useCompletion completes paths and commands in a field. */
export function useCompletion({ view, field, text, commands, attach, mention }: Wanted): Completion {
  const [last, setLast] = useState({ text: "", caret: -1 }); // of the last input; -1 if the list was closed
  const [marked, setMarked] = useState({ of: "", at: 0 });
  const waits = useRef(false); // to take the marked path as soon as the paths are found
  const found = last.caret < 0 || last.text !== text ? null : placeAt(text, last.caret);
  const place = found?.kind === "command" && !commands ? null : found;

  const query = place?.kind === "file" ? place.query : undefined;
  const paths = useFoundPaths(view, query);
  const context = useFoundMentions("context", query);
  const symbols = useFoundMentions("symbols", query);
  const isFound = place?.kind !== "file" || (paths.query === query && (!editorOf() || context.query === query));
  const files = (): Choice[] => [...mentionChoices(context.mentions), ...pathChoices(paths.paths), ...mentionChoices(symbols.query === query ? symbols.mentions : [])];
  const choices = place === null ? [] : place.kind === "file" ? files() : commandChoices(place.query, view.commands.value);
  const note = place?.kind !== "file" || choices.length > 0 || !isFound ? "" : paths.problem || "No matching files";
  const open = choices.length > 0 || note !== "";
  const of = place ? `${place.kind} ${place.query}` : "";
  const chosen = marked.of === of ? Math.min(marked.at, Math.max(choices.length - 1, 0)) : 0;

  const close = (): void => setLast({ text: "", caret: -1 });

  const take = (choice: Choice): void => {
    if (!place || !field.current) return;
    const spaced = /^\s/.test(text.slice(place.to)) ? choice.text.trimEnd() : choice.text;
    insert(field.current, place.from, place.to, spaced);
    if (choice.path !== undefined) attach(choice.path);
    if (choice.mention) mention(choice.mention.attachment);
    close();
  };

  useEffect(() => {
    if (!isFound || !waits.current) return;
    waits.current = false;
    const choice = choices[chosen];
    if (choice) take(choice);
  }, [isFound]);

  const key = (name: string): boolean => {
    waits.current = false;
    if (!place) return false;
    const choice = choices[chosen];
    const takes = name === "Enter" || name === "Tab";
    if (name === "Escape" && open) close();
    else if (takes && !isFound) waits.current = true;
    else if (!choice || (name === "Enter" && choice.text === text)) return false; // a command that is complete is sent
    else if (takes) take(choice);
    else if (name === "ArrowDown") setMarked({ of, at: Math.min(chosen + 1, choices.length - 1) });
    else if (name === "ArrowUp") setMarked({ of, at: Math.max(chosen - 1, 0) });
    else return false;
    return true;
  };

  return {
    choices, chosen, open, note, key, take, close,
    label: place?.kind === "command" ? "Commands" : "Files",
    typed: (now, caret) => setLast({ text: now, caret }),
    moved: (caret) => {
      if (last.caret >= 0 && caret !== last.caret) close();
    },
  };
}

/** insert replaces a part of a field's text as if it were typed, so that the browser can undo it. */
export function insert(field: HTMLTextAreaElement, from: number, to: number, text: string): void {
  field.focus();
  field.setSelectionRange(from, to);
  if (document.execCommand("insertText", false, text)) return;
  field.setRangeText(text, from, to, "end");
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
}

/** The attributes of a field with a completion. */
export const completes = ({ open, choices, chosen }: Completion) => ({
  "aria-autocomplete": "list" as const,
  "aria-controls": open ? "completion-list" : undefined,
  "aria-activedescendant": choices.length > 0 ? `completion-${chosen}` : undefined,
});

function ChoiceView({ choice: { path = "", command, mention } }: { choice: Choice }) {
  if (command) return <><code>/{command.name}</code> {command.input?.hint} <span class="quiet">{command.description}</span></>;
  if (mention) return <><bdi>{mention.label}</bdi> <span class="quiet">{mention.detail}</span></>;
  return <bdi class="cut" title={path}><Cut text={path} /></bdi>;
}

/** The list of a completion. */
export function CompletionList({ completion }: { completion: Completion }) {
  const { choices, chosen, open, label, note, take } = completion;
  const marked = useRef<HTMLLIElement>(null);
  useEffect(() => marked.current?.scrollIntoView({ block: "nearest" }), [chosen]);
  if (!open) return null;
  return (
    <div class="picker">
      <ul class="picker-list" role="listbox" id="completion-list" aria-label={label}>
        {choices.map((choice, i) => (
          <li key={choice.text + (choice.mention?.detail ?? "")} ref={i === chosen ? marked : null} id={`completion-${i}`} role="option" aria-selected={i === chosen}
            onMouseDown={(e) => { e.preventDefault(); take(choice); }}>
            <ChoiceView choice={choice} />
          </li>
        ))}
      </ul>
      {note !== "" && <p class="quiet" role="status">{note}</p>}
    </div>
  );
}
