import type { CompactionStatus, Strategy } from "@strata/client";
import { useEffect, useState } from "preact/hooks";
import { compact, ownCompaction, stopCompaction } from "../store/compaction.ts";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { words } from "../text/format.ts";
import { Progress, Tokens } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";

const strategies: Record<Strategy, string> = {
  topic: "keep the newest topic", rolling: "merge into a running summary", prune: "keep first, last and failures",
  middle: "keep the first and last messages", window: "keep the newest messages that fit",
};

/** What a compaction that is due waits for. */
const waits: Record<CompactionStatus["waitsFor"], string> = {
  "": "", turn: "after the running turn", tool_results: "after the results of the tool calls", growth: "after the history has grown by a quarter",
  more_history: "all of this history has to be kept", reply: "after the next reply",
};

/** The state of compaction, and a form that starts one. */
export function Compaction({ view }: { view: SessionView }) {
  const status = useFetched(view.compaction);
  const own = ownCompaction.value?.sessionId === view.id ? ownCompaction.value : null;
  const running = own !== null || view.compacting.value !== "" || (status?.running ?? false);
  return (
    <section aria-labelledby="compaction">
      <h2 id="compaction">Compaction</h2>
      <Shown of={view.compaction}>{status ? <Status status={status} /> : view.compaction.failure.value === "" && <Progress value={undefined} label="Loading" />}</Shown>
      {running ? <Running view={view} since={own?.since} /> : <CompactForm view={view} />}
    </section>
  );
}

/** filled returns the size of the history in relation to the trigger, in words. */
const filled = ({ size, trigger, percentUsed }: CompactionStatus): string => (size > trigger ? "above the trigger" : `${percentUsed} %`);

function Status({ status }: { status: CompactionStatus }) {
  return (
    <div class="status" data-enabled={status.enabled} data-history={status.size} data-trigger={status.trigger} data-due={status.needsCompaction} data-paused={status.paused} data-outcome={status.lastOutcome}>
      {status.enabled ? (
        <>
          <p>
            <strong>On</strong>: {status.strategy}, at <Tokens n={status.trigger} /> {status.unit}
            <span class="quiet">; history <Tokens n={status.size} />, {filled(status)}</span>
            {status.needsCompaction && <span class="mark">Compaction due{waits[status.waitsFor] && `: ${waits[status.waitsFor]}`}</span>}
            {status.paused && !status.needsCompaction && <span class="mark">backing off until the history grows by a quarter</span>}
          </p>
          <progress class="progress" max={Math.max(status.trigger, 1)} value={Math.min(status.size, status.trigger)} aria-label={`History: ${filled(status)}${status.size > status.trigger ? "" : " of the compaction trigger"}`} />
        </>
      ) : <p><strong>Automatic compaction is off</strong></p>}
      {status.lastOutcome && <p class="quiet">Last compaction: {words(status.lastOutcome)}</p>}
    </div>
  );
}

function CompactForm({ view }: { view: SessionView }) {
  const [strategy, setStrategy] = useState<Strategy | "">("");
  return (
    <form class="one-line" onSubmit={(e) => { e.preventDefault(); void compact(view, strategy); }}>
      <select class="field" aria-label="Strategy" id="compact-strategy" value={strategy} onChange={(e) => setStrategy(e.currentTarget.value as Strategy | "")}>
        <option value="">Session strategy</option>
        {Object.entries(strategies).map(([name, what]) => <option key={name} value={name}>{name}: {what}</option>)}
      </select>
      <button type="submit" class="button" disabled={!isOpen.value}>Compact history</button>
    </form>
  );
}

/** The running compaction, with the seconds since its start or, for another client's, since it was first seen. */
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
        <button type="button" class="button small" disabled={!isOpen.value} onClick={() => stopCompaction(view)}>Cancel compaction</button>
      </div>
    </div>
  );
}
