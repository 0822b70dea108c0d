import "../app.tsx"; // the build then keeps the first load in one file
import type { Overview, SpentDay } from "@strata/client";
import { useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { hitRate, inputOf, savingOf } from "../cost/calls.ts";
import { dialog } from "../dialogs.ts";
import { sessionAddress } from "../routes.ts";
import { isOpen } from "../store/connection.ts";
import { changedSoon, choose, days, overview, periods } from "../store/overview.ts";
import { sessions } from "../store/sessions.ts";
import { base, dollars, percent, plural, tokens } from "../text/format.ts";
import { Progress, Tokens } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { Bars, dayOf } from "./bars.tsx";
import { Budgets } from "./budgets.tsx";
import { Groups, tokensOf } from "./groups.tsx";
import { Running } from "./running.tsx";
import { cautions, type Measure } from "./words.ts";

/** The home page: what all sessions cost, and which of them run now. */
export function OverviewPage() {
  const data = useFetched(overview);
  useSignalEffect(() => {
    if (isOpen.value) overview.changed();
    else overview.lost();
  });
  useSignalEffect(() => {
    void sessions.value; // a session has done something
    changedSoon();
  });
  useMidnight(data);
  return (
    <>
      <header class="overview-head">
        <h1>Overview</h1>
        <div class="switch" role="group" aria-label="Period">
          {periods.map((p) => (
            <button key={p.days} type="button" class="button small" data-days={p.days} aria-pressed={p.days === days()} onClick={() => choose(p.days)}>{p.title}</button>
          ))}
        </div>
        <button type="button" class="button primary" disabled={!isOpen.value} onClick={() => (dialog.value = "new")}>Create session</button>
      </header>
      <Running />
      <Shown of={overview}>
        {data ? <Sums data={data} /> : overview.failure.value === "" && <Progress value={undefined} label="Loading the overview" />}
      </Shown>
    </>
  );
}

/** Maximum delay of a timer, in milliseconds. */
const LONGEST = 2 ** 31 - 1;

/** useMidnight fetches the overview again when its last day has ended. */
function useMidnight(data: Overview | undefined): void {
  const until = data?.until;
  useEffect(() => {
    if (until === undefined) return;
    const timer = setTimeout(() => overview.changed(), Math.min(Math.max(Date.parse(until) - Date.now(), 0) + 1000, LONGEST));
    return () => clearTimeout(timer);
  }, [until]);
}

const byCost: Measure = { of: (s) => s.cost, text: dollars, title: "Cost" };
const byTokens: Measure = { of: tokensOf, text: (n) => `${tokens(n)} tokens`, title: "Tokens" };

function Sums({ data }: { data: Overview }) {
  const measure = data.totals.cost > 0 ? byCost : byTokens;
  return (
    <>
      <Totals data={data} />
      <Budgets budgets={data.budgets} />
      {data.days.length > 1 && data.totals.calls > 0 && <Days days={data.days} measure={measure} />}
      <Groups id="by-model" title="Models" name="Model" rows={data.models} measure={measure} keyOf={(m) => m.model}>
        {(m) => (m.others ? plural(m.others, "other model") : m.model)}
      </Groups>
      <Groups id="by-folder" title="Folders" name="Folder" rows={data.folders} measure={measure} keyOf={(f) => f.folder}>
        {(f) => (f.others ? plural(f.others, "other folder") : <span title={f.folder}>{base(f.folder)}</span>)}
      </Groups>
      <Groups id="by-session" title="Most expensive sessions" name="Session" rows={data.sessions} measure={measure} keyOf={(s) => s.sessionId}>
        {(s) => (s.deleted ? <>{s.title || "Untitled session"} <span class="mark">deleted</span></> : <a href={sessionAddress(s.sessionId)} dir="auto">{s.title || "Untitled session"}</a>)}
      </Groups>
    </>
  );
}

function Totals({ data: { totals } }: { data: Overview }) {
  const saving = savingOf(totals);
  return (
    <section class="card" aria-labelledby="spent">
      <h2 id="spent">Spent</h2>
      <dl class="figures" data-calls={totals.calls}>
        <div><dt>{saving ? saving.text : "cost"}</dt><dd data-figure="cost" data-value={totals.cost}>{dollars(totals.cost)}</dd></div>
        {saving && <div><dt>without a cache</dt><dd data-figure="uncached" data-value={totals.uncachedCost}>{dollars(totals.uncachedCost)}</dd></div>}
        <div><dt>model calls</dt><dd data-figure="calls" data-value={totals.calls}>{totals.calls}</dd></div>
        <div><dt>tokens sent</dt><dd data-figure="input" data-value={inputOf(totals.usage)}><Tokens n={inputOf(totals.usage)} /></dd></div>
        <div><dt>tokens received</dt><dd data-figure="output" data-value={totals.usage.output}><Tokens n={totals.usage.output} /></dd></div>
        <div><dt>hit rate</dt><dd data-figure="hit" data-value={totals.hitRate}>{percent(hitRate(totals.usage), 1)}</dd></div>
      </dl>
      {cautions(totals).map((text) => <p key={text} class="note">{text}</p>)}
    </section>
  );
}

function Days({ days: all, measure }: { days: readonly SpentDay[]; measure: Measure }) {
  return (
    <section class="card" aria-labelledby="by-day">
      <h2 id="by-day">{measure.title} by day</h2>
      <Bars days={all} measure={measure} />
      <details class="day-table">
        <summary>As a table</summary>
        <table class="numbers" aria-labelledby="by-day">
          <thead><tr><th scope="col">Day</th><th scope="col" class="number">Cost</th><th scope="col" class="number">Tokens</th><th scope="col" class="number">Hit rate</th><th scope="col" class="number">Calls</th></tr></thead>
          <tbody>
            {all.map((d) => (
              <tr key={d.date} data-date={d.date} data-cost={d.cost}>
                <th scope="row">{dayOf(d.date)}</th><td class="number">{dollars(d.cost)}</td><td class="number"><Tokens n={tokensOf(d)} /></td>
                <td class="number">{percent(hitRate(d.usage), 1)}</td><td class="number">{d.calls}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </section>
  );
}
