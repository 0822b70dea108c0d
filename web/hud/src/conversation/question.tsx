import type { PermissionOption } from "@strata/client";
import type { TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Question } from "../store/questions.ts";
import { editorOf } from "../store/editor.ts";
import { sendKeys, sends } from "../ui/sending.ts";
import { visible } from "../text/visible.ts";
import { indented, inputOf, oneLine, place } from "./calls.ts";
import { commandOf } from "./command.ts";
import { Labeled, Place } from "./content.tsx";
import { Diffs } from "./diff.tsx";
import { diffsOf } from "./diffs.ts";
import { Command } from "./output.tsx";

/** Characters of the user's words to the model. The server takes 16 KiB. */
const MAX_WORDS = 4000;

export const questionTitle = ({ call }: Question): string => oneLine(call.title ?? "") || "Run a tool";

/** A question to the user: what a call would do, and the answers. It does not take the focus when it appears. */
export function QuestionView({ question, folder }: { question: Question; folder: string }) {
  const { call, options } = question;
  const title = questionTitle(question);
  const diffs = diffsOf(call.content ?? []);
  const changed = new Set(diffs.map((d) => d.path));
  const places = (call.locations ?? []).filter((l) => !changed.has(l.path));
  const isWhole = diffs.length > 0 && !diffs.some((d) => d.cut); // otherwise the input may say more
  const command = commandOf(call.kind ?? "", inputOf(call));
  const input = isWhole || command ? "" : visible(indented(inputOf(call)));
  return (
    <section ref={useFocusAfter(question)} class="question" aria-label={`Permission: ${title}`}>
      <p class="question-title"><span>Permission needed</span> <bdi>{command ? "Run a command" : title}</bdi></p>
      {places.length > 0 && (
        <ul class="call-places" aria-label="Locations">
          {places.map((l, i) => <li key={i}><Place at={place(l, folder)} /></li>)}
        </ul>
      )}
      <Diffs diffs={diffs} folder={folder} />
      {command && <Command command={command} folder={folder} />}
      {input !== "" && input !== "{}" && <Labeled text={input} label="Input" />}
      {question.wording.value
        ? <Rejection question={question} />
        : (
          <div class="question-answers" role="group" aria-label="Answers">
            {options.map((option) => <Answer key={option.optionId} question={question} option={option} />)}
            {rejection(question) && (
              <button type="button" class="button" onClick={() => question.word()}>Reject with message</button>
            )}
            {diffs.length > 0 && <OpenDiff question={question} />}
          </div>
        )}
    </section>
  );
}

/** The button that shows the changes in the editor. */
function OpenDiff({ question }: { question: Question }) {
  const editor = editorOf();
  return editor && <button type="button" class="button" onClick={() => editor.openDiff(question.sessionId, question.call.toolCallId)}>Open diff</button>;
}

/** The button of an option. The second click of a double click, which may meet the next question, does not count. */
function Answer({ question, option }: { question: Question; option: PermissionOption }) {
  const click = (event: MouseEvent): void => {
    if (event.detail < 2) question.answer(option.optionId);
  };
  return (
    <button type="button" class={option.kind === "allow_once" ? "button primary" : "button"} data-kind={option.kind} onClick={click}>
      {oneLine(option.name)}
    </button>
  );
}

/** The option that rejects a call once. */
const rejection = ({ options }: Question): PermissionOption | undefined => options.find((o) => o.kind === "reject_once");

/** The form of a rejection with words to the model. */
function Rejection({ question }: { question: Question }) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const here = document.activeElement;
    const isFree = here === null || here === document.body || field.current?.closest(".call")?.contains(here);
    if (question.takesFocus && isFree) field.current?.focus({ preventScroll: true });
    question.takesFocus = false;
  }, [question]);
  const send = (): void => question.answer(rejection(question)?.optionId ?? "", question.words.peek());
  const keys = (event: TargetedKeyboardEvent<HTMLTextAreaElement>): void => {
    if (sends(event)) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      question.wording.value = false;
    }
  };
  return (
    <form class="question-words" aria-label="Reject with message" onSubmit={(e) => { e.preventDefault(); send(); }}>
      <textarea ref={field} class="field" rows={2} maxLength={MAX_WORDS} aria-label="Message to the model" placeholder="What should the model do instead?"
        value={question.words.value} onInput={(e) => (question.words.value = e.currentTarget.value)} onKeyDown={keys} />
      <div class="question-answers">
        <button type="submit" class="button primary" title={`Reject call (${sendKeys().join("+")})`}>Reject call</button>
        <button type="button" class="button" onClick={() => (question.wording.value = false)}>Cancel</button>
      </div>
    </form>
  );
}

/**
 * useFocusAfter returns a ref for a question. If the focus is inside when the question is removed, its call gets the focus,
 * and the field for the words gets it back if the same is asked again.
 */
function useFocusAfter(question: Question) {
  const element = useRef<HTMLElement>(null);
  const newest = useRef(question);
  newest.current = question;
  useLayoutEffect(() => {
    const own = element.current;
    const call = own?.closest(".call")?.querySelector<HTMLElement>(".disclosure");
    return () => {
      if (!own?.contains(document.activeElement)) return;
      newest.current.takesFocus = document.activeElement?.matches("textarea") ?? false;
      (call ?? document.getElementById("prompt"))?.focus({ preventScroll: true });
    };
  }, []);
  return element;
}
