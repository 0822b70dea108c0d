import { useEffect, useMemo, useState } from "preact/hooks";
import { go, route, sessionAddress } from "../routes.ts";
import { reopen, type SessionView } from "../store/session.ts";
import { failed } from "../store/toasts.ts";
import { Empty, Progress } from "../ui/controls.tsx";
import { Icon } from "../ui/icons.tsx";
import { Window } from "../ui/window.tsx";
import { Composer } from "./composer.tsx";
import { RowView } from "./message.tsx";
import { Below } from "./below.tsx";
import { allRows, estimate, unfoldKey, type Row } from "./rows.ts";

/** The conversation of a session: its messages, what is wrong, and the prompt box. */
export function Conversation({ view }: { view: SessionView }) {
  switch (view.phase.value) {
    case "loading":
      return <div class="conversation"><div class="centre" role="status"><p class="quiet">Loading the session</p><Progress value={undefined} label="Loading the session" /></div></div>;
    case "missing":
      return <div class="conversation"><Empty title="There is no such session"><p>It may have been deleted. Choose another one on the left.</p></Empty></div>;
    case "closed":
      return <div class="conversation"><Empty title="The session was closed"><p>{view.problem.value}</p><button type="button" class="button primary" onClick={reopen}>Open it again</button></Empty></div>;
    case "failed":
      return <div class="conversation"><Empty title="The session could not be opened"><p>{view.problem.value}</p></Empty></div>;
  }
  return (
    <div class="conversation">
      <Notices view={view} />
      <Transcript key={view.id} view={view} />
      <Composer key={view.id} view={view} />
      <p class="hidden" role="status" aria-live="polite">{view.spoken.value}</p>
    </div>
  );
}

function Notices({ view }: { view: SessionView }) {
  const unsaved = view.unsaved.value;
  if (view.notices.value.length === 0 && unsaved === "") return null;
  return (
    <ul class="notices" aria-label="Notices">
      {view.notices.value.map((text) => <li key={text}>{text}</li>)}
      {unsaved !== "" && <li class="bad">The last answer is not stored yet: {unsaved}</li>}
    </ul>
  );
}

function Transcript({ view }: { view: SessionView }) {
  const { transcript } = view;
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const [atEnd, setAtEnd] = useState(true);
  const entries = transcript.entries.value;
  const newer = transcript.newer.value;
  const tail = newer ? [] : transcript.tail.value;
  const live = tail.findLast((e) => e.live)?.live;
  const finished = live?.finished.value ?? 0;
  const summary = transcript.summary.value;
  const rows = useMemo(() => allRows(entries, tail, summary, unfolded), [entries, transcript.tail.value, newer, summary, unfolded, finished, live?.thoughtChars === 0]);
  const marked = useMarked(view, setUnfolded);

  const toggle = (key: string): void => {
    const next = new Set(unfolded);
    if (!next.delete(key)) next.add(key);
    setUnfolded(next);
  };
  const target = useMemo(() => {
    const entry = entries.find((e) => e.message.seq === marked);
    const row = entry && rows.find((r) => r.kind !== "summary" && r.entry === entry);
    return row ? { key: row.key } : null;
  }, [marked, marked > 0 && entries.some((e) => e.message.seq === marked)]);

  if (rows.length === 0) return <div class="window transcript"><Nothing view={view} /></div>;
  return (
    <div class="transcript-frame">
      {transcript.loading.value !== "" && <Progress value={undefined} label="Loading messages" />}
      <Window class="transcript" role="log" label="Conversation" sticky rows={rows} estimate={estimate} target={target}
        draw={(row: Row) => <RowView row={row} view={view} toggle={toggle} marked={row.kind !== "summary" && marked > 0 && row.entry.message.seq === marked} />}
        onNearTop={() => void transcript.loadOlder().catch(failed("Older messages could not be fetched"))}
        onNearEnd={() => void transcript.loadNewer().catch(failed("Newer messages could not be fetched"))}
        onEnd={setAtEnd} />
      <Below view={view} />
      {(newer || !atEnd) && (
        <button type="button" class="to-end" aria-label="Go to the newest message" title="Go to the newest message"
          onClick={() => {
            go(sessionAddress(view.id, tabOf()), { replace: true });
            void transcript.showNewest().catch(failed("The newest messages could not be fetched")).then(scrollToEnd);
          }}>
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}

const tabOf = (): string => (route.peek().page === "session" ? (route.peek() as { tab: string }).tab : "");

function scrollToEnd(): void {
  requestAnimationFrame(() => {
    const element = document.querySelector(".transcript");
    if (element) element.scrollTop = element.scrollHeight;
  });
}

/** The message that the address points at: it is fetched and unfolded. Returns its sequence number, 0 for none. */
function useMarked(view: SessionView, setUnfolded: (change: (now: ReadonlySet<string>) => ReadonlySet<string>) => void): number {
  const here = route.value;
  const at = here.page === "session" && here.id === view.id ? here.at : 0;
  useEffect(() => {
    if (at === 0) return;
    view.transcript.show(at).then(() => {
      const entry = view.transcript.entries.peek().find((e) => e.message.seq === at);
      if (entry && !entry.message.inView) setUnfolded((now) => new Set(now).add(unfoldKey(entry, "all")));
    }, failed("The message could not be fetched"));
  }, [view, at]);
  return at;
}

function Nothing({ view }: { view: SessionView }) {
  return (
    <Empty title="Nothing was said yet">
      <p>
        Ask something below. Files of <code>{view.cwd.value}</code> go along with <kbd>@</kbd>.
      </p>
    </Empty>
  );
}
