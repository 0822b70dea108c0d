import type { PlanEntry } from "@strata/client";
import { plural } from "../text/format.ts";
import type { SessionView } from "../store/session.ts";
import type { LiveCall } from "../store/live-calls.ts";
import { questionsOf, type Question } from "../store/questions.ts";
import { resultKey } from "../store/tool-calls.ts";
import { Icon, type IconName } from "../ui/icons.tsx";
import { Cut } from "../ui/cut.tsx";
import { useWhole } from "../ui/whole.ts";
import { callState, indented, oneLine, place, placeBeside, progressOf, type CallState, type ResultPart } from "./calls.ts";
import { isWhole, SUCCESS } from "./command.ts";
import { codeOfFile, codeOfOutput, jsonCode } from "./code-parts.ts";
import { Labeled, Picture, Place } from "./content.tsx";
import { Diffs } from "./diff.tsx";
import { Command, Output } from "./output.tsx";
import { QuestionView } from "./question.tsx";
import { callName, expandKey, patchLabel, stepsKey, visibilities, type Row, type Toggle } from "./rows.ts";

type CallRow = Extract<Row, { kind: "call" }>;

/** A tool call in one line, which opens to show its input and its result. */
export function Call({ row, view, toggle }: { row: CallRow; view: SessionView; toggle: Toggle }) {
  const turnId = row.entry.message.turnId;
  const running = turnId !== undefined && view.running.value?.turnId === turnId;
  const stored = view.transcript.results.value.of.get(resultKey(row.entry, row.callId));
  const question = questionsOf(view.id).find((q) => q.call.toolCallId === row.callId);
  const state = callState({ ...row, running }, stored, asked(view.calls.all.value.get(row.callId), question));
  // Steps fold at the end of their turn, but not around a call that the user has opened.
  const click = (): void => toggle(expandKey(row.entry, callName(row.callId)), running && !row.open ? stepsKey(turnId) : undefined);
  return (
    <div class="call" data-status={state.status}>
      <button type="button" class="disclosure" aria-expanded={row.open} onClick={click}>
        <Icon name="chevron" />
        <CallLine state={state} folder={view.cwd.value} inView={row.entry.message.inView} />
      </button>
      {row.open && <CallBody state={state} asks={question !== undefined} folder={view.cwd.value} />}
      {question && <QuestionView key={question.call.toolCallId} question={question} folder={view.cwd.value} />}
    </div>
  );
}

/** asked returns a live call with the title of its question: the updates may have only the name of the tool. */
function asked(live: LiveCall | undefined, question: Question | undefined): LiveCall | undefined {
  if (!question) return live;
  const { title, kind } = question.call;
  return { ...live, ...(title === undefined ? {} : { title }), ...(kind === undefined ? {} : { kind }) };
}

const kindIcons = new Map<string, IconName>([
  ["read", "file"], ["search", "search"], ["edit", "edit"], ["delete", "trash"], ["move", "fork"], ["execute", "terminal"], ["think", "list"], ["fetch", "download"],
]);

const failures: ReadonlySet<string> = new Set(["failed", "incomplete", "interrupted", "not run"]);

function CallLine({ state, folder, inView }: { state: CallState; folder: string; inView: boolean }) {
  const beside = placeBeside(state, folder);
  const hidden = inView && state.stored && !state.stored.entry.message.inView;
  return (
    <>
      <Icon name={kindIcons.get(state.kind) ?? "tool"} />
      <span class="hidden">{oneLine(state.kind)}: </span>
      <bdi class={state.command ? "call-title mono" : "call-title cut"} title={state.command?.line ?? state.title}>{state.command ? state.title : <Cut text={state.title} />}</bdi>
      {beside !== "" && <bdi class="call-place cut" title={beside}><Cut text={beside} /></bdi>}
      {hidden && <span class="call-status">{visibilities[state.stored?.entry.message.view?.state ?? ""] ?? "Not in view"}</span>}
      <Status state={state} />
    </>
  );
}

/** The status of a call. For a command that has ended without success, its outcome is shown instead. */
function Status({ state: { status, ended } }: { state: CallState }) {
  if (status === "") return null;
  const outcome = status === "done" && ended && ended.outcome !== SUCCESS ? ended.outcome : "";
  return <span class={failures.has(status) || outcome !== "" ? "call-status bad" : "call-status"}>{oneLine(outcome).toLowerCase() || status}</span>;
}

/** The input and the result of a call, without the parts that its question shows. */
function CallBody({ state, asks, folder }: { state: CallState; asks: boolean; folder: string }) {
  const failed = failures.has(state.status) || state.status === "cancelled";
  return (
    <div class="call-body">
      {state.locations.length > 0 && (
        <ul class="call-places" aria-label="Locations">
          {state.locations.map((l, i) => <li key={i}><Place at={place(l, folder)} /></li>)}
        </ul>
      )}
      {!asks && <Diffs diffs={state.diffs} folder={folder} />}
      {state.command ? !asks && !isWhole(state.command, state.title) && <Command command={state.command} folder={folder} />
        : state.input !== "" && <Input text={indented(state.input)} />}
      {state.output && <Output of={state.output} />}
      {state.parts.map((part, i) => <Part key={i} part={part} index={i} state={state} failed={failed} />)}
    </div>
  );
}

/** A text or a picture of a result, after what the model receives instead. */
function Part({ part, index, state, failed }: { part: ResultPart; index: number; state: CallState; failed: boolean }) {
  const { stored } = state;
  const patch = stored?.entry.message.view?.patches?.find((p) => p.block === stored.index && p.part === index);
  return (
    <>
      {patch && (
        <div class="patched">
          <p class="patched-label">{patchLabel(patch.state, part.type === "image")}</p>
          <p class="patched-text" dir="auto">{patch.text}</p>
        </div>
      )}
      {part.type === "image" ? <Picture block={part} />
        : state.ended && index === 0 ? <Labeled text={state.ended.output} label={state.ended.outcome} bad={failed} whole code={codeOfOutput(state.ended.output)} />
        : state.diffs.length > 0 && !failed ? <Received text={part.text ?? ""} />
        : <Labeled text={part.text ?? ""} label={failed ? "Failed" : "Result"} bad={failed} code={failed ? undefined : codeOfFile(part.text ?? "", state.kind === "read" ? state.locations[0]?.path : undefined)} />}
    </>
  );
}

function Input({ text }: { text: string }) {
  return <Labeled text={text} label="Input" code={jsonCode(text)} />;
}

/** The result of a call whose changes are shown: the model receives them as text. */
function Received({ text }: { text: string }) {
  const [open, setOpen] = useWhole();
  return (
    <>
      <button type="button" class="disclosure" aria-expanded={open} onClick={() => setOpen(!open)}><Icon name="chevron" />What the model receives</button>
      {open && <Labeled text={text} label="Result" />}
    </>
  );
}

/** The folded steps of a finished turn. */
export function Steps({ row, author, toggle }: { row: Extract<Row, { kind: "steps" }>; author: string; toggle: Toggle }) {
  return (
    <div class="head steps">
      <span class="who">{author}</span>
      <button type="button" class="disclosure" aria-expanded={row.open} onClick={() => toggle(row.part)}>
        <Icon name="chevron" />
        {plural(row.calls, "call")}
        {row.failed > 0 && <span class="bad">{row.failed} failed</span>}
      </button>
    </div>
  );
}

const planMarks = new Map<string, [mark: string, words: string]>([
  ["completed", ["☑", "done"]], ["in_progress", ["◐", "in progress"]], ["pending", ["☐", "open"]],
]);

/** The newest plan of the model, as a checklist. */
export function Plan({ entries }: { entries: readonly PlanEntry[] }) {
  return (
    <section class="plan" aria-label="Plan">
      <p class="plan-head">Plan <span class="quiet">{progressOf(entries)}</span></p>
      <ul>
        {entries.map((entry, i) => {
          const [mark, words] = planMarks.get(entry.status) ?? ["☐", entry.status];
          return (
            <li key={i} data-status={entry.status}>
              <span aria-hidden="true">{mark}</span>
              <bdi>{entry.content}</bdi>
              <span class="hidden">({words})</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
