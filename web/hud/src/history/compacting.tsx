import type { CompactionStatus, Strategy } from "@strata/client";
import { useEffect, useState } from "preact/hooks";
import { asked, compact, stopCompaction } from "../store/compacting.ts";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { words } from "../text/format.ts";
import { Progress, Tokens } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";

const strategies: Record<Strategy, string> = {
  topic: "keep the newest topic", rolling: "fold into a running summary", prune: "keep first, last and failures",
  middle: "keep the ends", window: "keep the newest that fit",
};

/** How compaction stands, and compacting now. */
export function Compacting({ view }: { view: SessionView }) {
  const status = useFetched(view.compaction);
  const mine = asked.value?.sessionId === view.id ? asked.value : null;
  const running = mine !== null || view.compacting.value !== "" || (status?.running ?? false);
  return (
    <section aria-labelledby="compaction">
      <h2 id="compaction">Compaction</h2>
      <Shown of={view.compaction}>{status ? <Status status={status} /> : view.compaction.failure.value === "" && <Progress value={undefined} label="Fetching" />}</Shown>
      {running ? <Running view={view} since={mine?.since} /> : <Now view={view} />}
    </section>
  );
}

function Status({ status }: { status: CompactionStatus }) {
  return (
    <div class="status" data-enabled={status.enabled} data-history={status.historyTokens} data-trigger={status.triggerTokens} data-paused={status.paused} data-outcome={status.lastOutcome}>
      {status.enabled ? (
        <>
          <p>
            <strong>On</strong>, {status.strategy}, from <Tokens n={status.triggerTokens} /> tokens on
            <span class="quiet">; the history has <Tokens n={status.historyTokens} />, {status.percentUsed} %</span>
            {status.paused && <span class="mark">paused until the history has grown by a quarter</span>}
          </p>
          <progress class="progress" max={Math.max(status.triggerTokens, 1)} value={Math.min(status.historyTokens, status.triggerTokens)} aria-label={`The history is at ${status.percentUsed} % of what starts a compaction`} />
        </>
      ) : <p><strong>Off</strong><span class="quiet">: the profile compacts nothing by itself. It can be done by hand.</span></p>}
      {status.lastOutcome && <p class="quiet">The last one: {words(status.lastOutcome)}</p>}
    </div>
  );
}

function Now({ view }: { view: SessionView }) {
  const [strategy, setStrategy] = useState<Strategy | "">("");
  return (
    <form class="one-line" onSubmit={(e) => { e.preventDefault(); void compact(view, strategy); }}>
      <select class="field" aria-label="Strategy" id="compact-strategy" value={strategy} onChange={(e) => setStrategy(e.currentTarget.value as Strategy | "")}>
        <option value="">The session’s own strategy</option>
        {Object.entries(strategies).map(([name, what]) => <option key={name} value={name}>{name}: {what}</option>)}
      </select>
      <button type="submit" class="button" disabled={!isOpen.value}>Compact now</button>
    </form>
  );
}

/** A compaction that is under way, with the time since it began or, of another's, since it was seen. */
function Running({ view, since }: { view: SessionView; since: number | undefined }) {
  const [seen] = useState(() => Date.now());
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(Math.round((now - (since ?? seen)) / 1000), 0);
  return (
    <div class="running">
      <Progress value={undefined} label="Compacting" />
      <div class="one-line">
        <span role="status">Compacting <span class="quiet">{seconds} s</span></span>
        <button type="button" class="button small" disabled={!isOpen.value} onClick={() => stopCompaction(view)}>Cancel</button>
      </div>
    </div>
  );
}
