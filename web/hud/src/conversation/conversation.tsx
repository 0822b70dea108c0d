import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { go, route, sessionAddress } from "../routes.ts";
import { reopen, type SessionView } from "../store/session.ts";
import { keepPlace, placeOf, type Place } from "../store/places.ts";
import { failed } from "../store/toasts.ts";
import { MovedFolder } from "../sessions/moved-folder.tsx";
import { Empty, Progress } from "../ui/controls.tsx";
import { Icon } from "../ui/icons.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { Above, startsMessage } from "./above.tsx";
import { later } from "../ui/later.tsx";
import { finding } from "../find/open.ts";
import { CommandOutput } from "./commands.tsx";
import { Composer } from "./composer.tsx";
import { RowView } from "./message.tsx";
import { QuestionView, questionTitle } from "./question.tsx";
import { TurnStatus } from "./turn-status.tsx";
import { questionsOf, type Question } from "../store/questions.ts";
import { resultKey } from "../store/tool-calls.ts";
import type { Entry } from "../store/transcript.ts";
import { allRows, callName, estimate, expandKey, stepsKey, type Row } from "./rows.ts";

/** The conversation of a session: notices, messages and the prompt form. */
export function Conversation({ view }: { view: SessionView }) {
  switch (view.phase.value) {
    case "loading":
      return <div class="conversation"><div class="centre" role="status"><p class="quiet">Loading the session</p><Progress value={undefined} label="Loading the session" /></div></div>;
    case "missing":
      return <div class="conversation"><Empty title="Session not found"><p>It may have been deleted. Choose another session in the list.</p></Empty></div>;
    case "closed":
      return <div class="conversation"><Empty title="Session closed"><p>{view.problem.value}</p><button type="button" class="button primary" onClick={reopen}>Reopen session</button></Empty></div>;
    case "failed":
      return <div class="conversation"><Empty title="Cannot open the session"><p>{view.problem.value}</p></Empty></div>;
  }
  return (
    <div class="conversation">
      <Notices view={view} />
      <Transcript key={view.id} view={view} />
      <CommandOutput view={view} />
      <Composer key={view.id} view={view} />
      <p class="hidden" role="status" aria-live="polite">{view.spoken.value}</p>
      <p class="hidden" role="status" aria-live="polite">{questionsOf(view.id).map((q) => `Permission needed: ${questionTitle(q)}`).join(". ")}</p>
    </div>
  );
}

function Notices({ view }: { view: SessionView }) {
  const unsaved = view.unsaved.value;
  const missing = view.folderMissing.value;
  if (view.notices.value.length === 0 && unsaved === "" && !missing) return null;
  return (
    <ul class="notices" aria-label="Notices">
      {view.notices.value.map((text) => <li key={text}>{text}</li>)}
      {missing && <MovedFolder view={view} />}
      {unsaved !== "" && <li class="bad">The last reply is not stored yet: {unsaved}</li>}
    </ul>
  );
}

const FindBar = later(() => import("../find/bar.tsx").then((m) => m.FindBar));

function Transcript({ view }: { view: SessionView }) {
  const { transcript } = view;
  const begun = useMemo(() => placeOf(view.id), []);
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(() => new Set(begun?.expanded));
  const place = useRef(begun?.row);
  /** The row at which the reader was is not shown yet. Until then its place stays, also if the page is loaded again. */
  const returns = useRef(begun?.row !== undefined);
  useEffect(() => keepPlace(view.id, withRow([...expanded], place.current)), [view, expanded]);
  const [atEnd, setAtEnd] = useState(true);
  const [top, setTop] = useState<Row | null>(null);
  const [ends, setEnds] = useState(0); // number of ways to the newest message
  const entries = transcript.entries.value;
  const newer = transcript.newer.value;
  const tail = newer ? [] : transcript.tail.value;
  const live = tail.findLast((e) => e.live)?.live;
  const finished = live?.finished.value ?? 0;
  const summary = transcript.summary.value;
  const results = transcript.results.value;
  const plan = view.plan.value;
  const running = newer ? "" : (view.running.value?.turnId ?? "");
  const calling = view.calling.value;
  const idle = !newer && !view.busy.value;
  const rows = useMemo(() => allRows({ entries, tail, summary, results, plan, running, calling, idle, expanded }),
    [entries, transcript.tail.value, newer, summary, results, plan, running, calling, idle, expanded, finished]);
  const marked = useMarked(view, setExpanded);

  const toggle = (key: string, around?: string): void => {
    const next = new Set(expanded);
    if (!next.delete(key)) next.add(key);
    if (around !== undefined) next.add(around);
    setExpanded(next);
  };
  const isOf = (row: Row, entry: Entry): boolean => row.kind !== "summary" && (row.entry === entry ||
    (row.kind === "call" && results.of.get(resultKey(row.entry, row.callId))?.entry === entry));
  const markedEntry = marked > 0 ? entries.find((e) => e.message.seq === marked) : undefined;
  const target = useMemo(() => {
    const row = markedEntry && rows.find((r) => isOf(r, markedEntry));
    return row ? { key: row.key } : null;
  }, [marked, markedEntry !== undefined]);
  const [jump, setJump] = useState<{ key: string; delta?: number } | null>(null);
  /** The row with the match of the find bar. It shows all of its content. */
  const [found, setFound] = useState("");
  useEffect(() => setJump(null), [target]);
  useEffect(() => {
    const row = begun?.row;
    const returned = (): void => void (returns.current = false);
    if (!row || marked > 0) return returned();
    transcript.show(row.seq).then(() => setJump(row), failed("Cannot load the message")).finally(returned);
  }, []);
  const prompted = view.prompted.value;
  useEffect(() => {
    if (prompted > 0) leaveMessage(view);
  }, [prompted]);

  if (rows.length === 0) return <div class="window transcript"><NoMessages view={view} /></div>;
  return (
    <div class="transcript-frame">
      {transcript.loading.value !== "" && <Progress value={undefined} label="Loading messages" />}
      <div class="transcript-window">
        <Above top={top} rows={rows} onShow={(key) => setJump({ key })} />
        <VirtualList class="transcript" role="log" label="Conversation" sticky toEnd={prompted + ends} rows={rows} estimate={estimate} target={jump ?? target}
          draw={(row: Row) => <RowView row={row} view={view} toggle={toggle} whole={row.key === found} marked={markedEntry !== undefined && isOf(row, markedEntry)} />}
          onNearTop={() => void transcript.loadOlder().catch(failed("Cannot load older messages"))}
          onNearEnd={() => void transcript.loadNewer().catch(failed("Cannot load newer messages"))}
          onEnd={setAtEnd} onTop={setTop} stops={startsMessage}
          onPlace={(at) => {
            if (returns.current) return;
            place.current = at && at.row.kind !== "summary" && at.row.entry.message.seq > 0 ? { key: at.row.key, seq: at.row.entry.message.seq, delta: at.delta } : undefined;
            keepPlace(view.id, withRow([...expanded], place.current));
          }} />
        {finding.value.sessionId === view.id && (
          <FindBar view={view} rows={rows} reveal={(entry, parts) => setExpanded((now) => new Set([...now, ...partsAround(view, entry), ...parts]))}
            show={(key) => { setFound(key); setJump({ key }); }} />
        )}
        {(newer || !atEnd) && (
          <button type="button" class="to-end" aria-label="Go to newest message" title="Go to newest message"
            onClick={() => {
              leaveMessage(view);
              void transcript.showNewest().catch(failed("Cannot load the newest messages")).then(() => setEnds((n) => n + 1));
            }}>
            <Icon name="down" />
          </button>
        )}
      </div>
      <Questions view={view} rows={rows} atEnd={atEnd} onShow={(key) => setJump({ key })} />
      <TurnStatus view={view} />
    </div>
  );
}

const withRow = (expanded: readonly string[], row: Place["row"]): Place => ({ expanded, ...(row ? { row } : {}) });

interface QuestionsProps {
  view: SessionView;
  rows: readonly Row[];
  /** The newest messages are in sight. */
  atEnd: boolean;
  /** Scrolls to a row. */
  onShow: (key: string) => void;
}

/** The open questions whose calls are not loaded, and the way to those whose calls may be out of sight. */
function Questions({ view, rows, atEnd, onShow }: QuestionsProps) {
  const open = questionsOf(view.id);
  if (open.length === 0) return null;
  const rowOf = ({ call }: Question): Row | undefined => rows.find((row) => row.kind === "call" && row.callId === call.toolCallId);
  return (
    <div class="below questions">
      {open.map((question) => {
        const row = rowOf(question);
        if (!row) return <QuestionView key={question.call.toolCallId} question={question} folder={view.cwd.value} />;
        if (atEnd) return null;
        return (
          <p key={row.key} class="question-link">
            <span>Permission needed: {questionTitle(question)}</span>
            <button type="button" class="button small" onClick={() => onShow(row.key)}>Show call</button>
          </p>
        );
      })}
    </div>
  );
}

/** Removes the shown message from the address. */
const leaveMessage = (view: SessionView): void => go(sessionAddress(view.id, tabOf()), { replace: true });

const tabOf = (): string => (route.peek().page === "session" ? (route.peek() as { tab: string }).tab : "");

/** partsAround returns the keys of what has to be expanded to show a message. A result is shown in its call. */
function partsAround(view: SessionView, entry: Entry): string[] {
  const { results, entries } = view.transcript;
  const keys = entry.message.inView ? [] : [expandKey(entry, "all")];
  if (entry.message.turnId) keys.push(stepsKey(entry.message.turnId));
  if (entry.message.role !== "tool") return keys;
  for (const caller of entries.peek()) {
    const calls = caller.message.blocks.filter((b) => b.type === "tool_call");
    const own = calls.filter((b) => results.peek().of.get(resultKey(caller, b.callId))?.entry === entry);
    if (own.length > 0 && !caller.message.inView) keys.push(expandKey(caller, "all"));
    keys.push(...own.map((b) => expandKey(caller, callName(b.callId))));
  }
  return keys;
}

/** useMarked loads and expands the message in the address. It returns its sequence number, 0 for none. */
function useMarked(view: SessionView, setExpanded: (change: (now: ReadonlySet<string>) => ReadonlySet<string>) => void): number {
  const here = route.value;
  const at = here.page === "session" && here.id === view.id ? here.at : 0;
  useEffect(() => {
    if (at === 0) return;
    view.transcript.show(at).then(() => {
      const entry = view.transcript.entries.peek().find((e) => e.message.seq === at);
      if (entry) setExpanded((now) => new Set([...now, ...partsAround(view, entry)]));
    }, failed("Cannot load the message"));
  }, [view, at]);
  return at;
}

function NoMessages({ view }: { view: SessionView }) {
  return (
    <Empty title="No messages yet">
      <p>
        Write a prompt below. Attach files of <code>{view.cwd.value}</code> with <kbd>@</kbd>.
      </p>
    </Empty>
  );
}
