import type { Breakdown, Call, UsageTotals } from "@strata/client";
import { useEffect, useMemo, useState } from "preact/hooks";
import { go, requestAddress } from "../routes.ts";
import { CallLog, MAX_CALLS } from "../store/calls.ts";
import type { SessionView } from "../store/session.ts";
import { failed } from "../store/toasts.ts";
import { count, dollars, fully, percent, plural, seconds, sentence, when } from "../text/format.ts";
import { Empty, ESTIMATED, Progress, Tokens } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { Icon } from "../ui/icons.tsx";
import { hitRate, inputOf, kinds, pageOf, savingOf } from "./calls.ts";
import { Lane } from "./lane.tsx";
import { Plot } from "./plot.tsx";

/** Rows in a page of the table. */
const ROWS = 25;

/** The cost of each model call of the session, and the savings by the provider's cache. */
export function CostPanel({ view }: { view: SessionView }) {
  const usage = useFetched(view.usage);
  const breakdown = useFetched(view.breakdown);
  const log = useMemo(() => new CallLog(view), [view]);
  useEffect(() => {
    if (usage) log.take(usage);
  }, [usage, log]);
  const calls = log.calls.value;
  return (
    <div class="panel">
      <Shown of={view.usage}>
        {!usage && view.usage.failure.value === "" && <Progress value={undefined} label="Loading the calls" />}
        {usage && usage.totals.calls === 0 && (
          <Empty title={view.running.value ? "The first model call is running" : "No model calls yet"}>
            <p>{view.running.value ? "Its cache reads, cache writes and cost appear here when it ends." : "Send a prompt to see the cache reads, cache writes and cost of each call."}</p>
          </Empty>
        )}
        {usage && usage.totals.calls > 0 && (
          <>
            <Figures totals={usage.totals} />
            <Plot calls={calls} firstNumber={usage.totals.calls - calls.length + 1} onOpen={(call) => go(requestAddress(view.id, call.callId))} />
            <CacheLane view={view} calls={calls} firstNumber={usage.totals.calls - calls.length + 1} />
            <Reads totals={usage.totals} breakdown={breakdown} />
            <Table session={view.id} log={log} calls={calls} total={usage.totals.calls} />
          </>
        )}
      </Shown>
    </div>
  );
}

/** The lane of the cache. */
function CacheLane({ view, calls, firstNumber }: { view: SessionView; calls: readonly Call[]; firstNumber: number }) {
  const outlook = useFetched(view.cache);
  return outlook && <Shown of={view.cache}><Lane calls={calls} firstNumber={firstNumber} marks={outlook.marks} /></Shown>;
}

function Figures({ totals }: { totals: UsageTotals }) {
  const saving = savingOf(totals);
  return (
    <header class="headline">
      <p class="headline-figure" data-cost={totals.cost}>{dollars(totals.cost)} <span class="quiet">for {plural(totals.calls, "call")}{totals.failed > 0 && `, ${count(totals.failed)} failed`}{totals.stopped > 0 && `, ${count(totals.stopped)} stopped`}</span></p>
      <p class="headline-words" data-uncached={totals.uncachedCost}>
        {saving ? <><span>{saving.text}</span> <span class="quiet">{dollars(totals.uncachedCost)}</span>{saving.more && <span class="mark bad">The cache costs more than it saves</span>}</>
          : <span>The price of the model is unknown.</span>}
      </p>
    </header>
  );
}

/** Totals of all calls: expected cache reads compared with the reported usage. */
function Reads({ totals, breakdown }: { totals: UsageTotals; breakdown: Breakdown | undefined }) {
  const { usage } = totals;
  const sum = (title: string, id: string, n: number) => (
    <tr data-sum={id} data-tokens={n}>
      <th scope="row"><span class={`swatch kind-${id}`} aria-hidden="true" />{title}</th>
      <td class="number"><Tokens n={n} /></td>
      <td class="number">{percent(n, id === "output" ? 0 : inputOf(usage))}</td>
    </tr>
  );
  return (
    <section class="card" aria-labelledby="sums">
      <h2 id="sums">Totals</h2>
      <table class="numbers" aria-labelledby="sums">
        <thead><tr><th scope="col">Tokens</th><th scope="col" class="number">All calls</th><th scope="col" class="number">Share of input</th></tr></thead>
        <tbody>
          {sum(kinds[0].title, "read", usage.cacheRead)}
          {sum("Expected cache reads", "expected", totals.expectedCacheRead)}
          {sum(kinds[1].title, "written", usage.cacheWrite)}
          {sum(kinds[2].title, "uncached", usage.input)}
        </tbody>
        <tbody class="sum"><tr data-sum="output" data-tokens={usage.output}><th scope="row"><span class="swatch kind-output" aria-hidden="true" />Output</th><td class="number"><Tokens n={usage.output} /></td><td /></tr></tbody>
      </table>
      {breakdown && breakdown.cache.readTokens + breakdown.cache.writeTokens + breakdown.cache.expected > 0 && (
        <p class="note" data-hit={breakdown.cache.hitRate}>
          Last call: <Tokens n={breakdown.cache.readTokens} /> read, <Tokens n={breakdown.cache.expected} /> expected, <Tokens n={breakdown.cache.writeTokens} /> written, hit rate {percent(breakdown.cache.hitRate, 1)}.
        </p>
      )}
    </section>
  );
}

function Table({ session, log, calls, total }: { session: string; log: CallLog; calls: readonly Call[]; total: number }) {
  const [page, setPage] = useState(0);
  const last = Math.max(Math.ceil(calls.length / ROWS) - 1, 0);
  const at = Math.min(page, last);
  const shown = pageOf(calls, at, ROWS);
  const newest = total - at * ROWS;
  const older = async (): Promise<void> => {
    if ((at + 1) * ROWS >= calls.length) await log.loadOlder();
    setPage(at + 1);
  };
  return (
    <section class="card" aria-labelledby="calls">
      <h2 id="calls">Calls</h2>
      <table class="numbers calls" aria-labelledby="calls">
        <thead>
          <tr>
            <th scope="col">Call</th><th scope="col">Purpose</th><th scope="col" class="number">Input</th><th scope="col" class="number">Hit rate</th>
            <th scope="col" class="number">Output</th><th scope="col" class="number">Cost</th>
          </tr>
        </thead>
        <tbody>{shown.map((c, i) => <CallRow key={c.callId} session={session} call={c} number={newest - i} />)}</tbody>
      </table>
      <p class="pager">
        <button type="button" class="button small" disabled={at === 0} onClick={() => setPage(at - 1)}>Newer calls</button>
        <button type="button" class="button small" disabled={log.loading.value || (at === last && !log.older.value)} onClick={() => void older().catch(failed("Cannot load older calls"))}>Older calls</button>
        <span class="quiet">{count(newest)} to {count(newest - shown.length + 1)} of {count(total)}{calls.length >= MAX_CALLS && at === last && `; the newest ${count(MAX_CALLS)} are shown`}</span>
      </p>
    </section>
  );
}

/** The most important figures of a call. Its row opens to show the others. */
function CallRow({ session, call, number }: { session: string; call: Call; number: number }) {
  const [open, setOpen] = useState(false);
  const { estimated } = call;
  return (
    <>
      <tr data-call={call.callId} data-estimated={estimated} data-status={call.status}>
        <td>
          <button type="button" class="disclosure call-number" aria-expanded={open} aria-label={`Call ${count(number)}, details`} onClick={() => setOpen(!open)}>
            <Icon name="chevron" />{count(number)}
          </button>
        </td>
        <td><a class="call-request" href={requestAddress(session, call.callId)} title="Open the request of this call" aria-label={`${call.purpose}: open the request of call ${count(number)}`}>{call.purpose}</a> <Ended call={call} /></td>
        <td class="number"><Tokens n={inputOf(call)} estimated={estimated} /></td>
        <td class="number"><Derived call={call} text={percent(hitRate(call), 1)} /></td>
        <td class="number"><Tokens n={call.output} estimated={estimated} /></td>
        <td class="number"><Derived call={call} text={dollars(call.cost)} exact={`$${call.cost}`} /></td>
      </tr>
      {open && <tr class="call-details" data-details={call.callId}><td colSpan={6}><Details call={call} /></td></tr>}
    </>
  );
}

/** How a call ended, if it did not end by itself at the first attempt. */
function Ended({ call }: { call: Call }) {
  const tries = call.attempts > 1 ? plural(call.attempts, "attempt") : "";
  if (call.status === "complete") return tries ? <span class="quiet">{tries}</span> : null;
  return <><span class={call.status === "failed" ? "mark bad" : "mark"} title={call.error?.message}>{sentence(call.status)}</span>{tries && <> <span class="quiet">{tries}</span></>}</>;
}

/** A figure that follows from the tokens of a call. */
function Derived({ call: { estimated }, text, exact }: { call: Call; text: string; exact?: string }) {
  const title = [exact, estimated && ESTIMATED].filter(Boolean).join(", ");
  return <span title={title || undefined}>{estimated && "~"}{text}</span>;
}

function Details({ call }: { call: Call }) {
  const { estimated } = call;
  return (
    <dl>
      {call.error && <div class="call-error"><dt>Reason</dt><dd>{call.error.message}</dd></div>}
      <div><dt>Attempts</dt><dd>{call.attempts === 0 ? "Never sent" : count(call.attempts)}</dd></div>
      {call.durationMs > 0 && <div><dt>Duration</dt><dd>{seconds(call.durationMs)}</dd></div>}
      {call.firstTokenMs > 0 && <div><dt>First token</dt><dd>{seconds(call.firstTokenMs)}</dd></div>}
      <div><dt>Cache reads</dt><dd><Tokens n={call.cacheRead} estimated={estimated} /></dd></div>
      <div><dt>Expected</dt><dd><Tokens n={call.expectedCacheRead} /></dd></div>
      <div><dt>Cache writes</dt><dd><Tokens n={call.cacheWrite} estimated={estimated} /></dd></div>
      <div><dt>Uncached</dt><dd><Tokens n={call.input} estimated={estimated} /></dd></div>
      <div><dt>Without cache</dt><dd><Derived call={call} text={dollars(call.uncachedCost)} exact={`$${call.uncachedCost}`} /></dd></div>
      <div><dt>Time</dt><dd><time dateTime={call.at} title={fully(call.at)}>{when(call.at)}</time></dd></div>
      <div><dt>Model</dt><dd class="mono">{call.model}</dd></div>
    </dl>
  );
}
