import type { Breakdown, Budget, DraftFigures } from "@strata/client";
import { useState } from "preact/hooks";
import type { SessionView } from "../store/session.ts";
import { percent, plural } from "../text/format.ts";
import { Progress, TokenCount, Tokens } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { Omitted } from "./omitted.tsx";
import { barLength, partsOf, ratio, room, warningOf, type Part } from "./parts.ts";
import { Request } from "./request.tsx";
import { Shares } from "./shares.tsx";

/** The contents of the next request, compared with the model's window. */
export function BudgetPanel({ view }: { view: SessionView }) {
  const budget = useFetched(view.budget);
  const breakdown = useFetched(view.breakdown);
  const both = [view.budget, view.breakdown];
  return (
    <div class="panel">
      <Shown of={both}>
        {budget && breakdown ? <Filled view={view} budget={budget} breakdown={breakdown} />
          : !both.some((f) => f.failure.value) && <Progress value={undefined} label="Counting the next request" />}
      </Shown>
    </div>
  );
}

function Filled({ view, budget, breakdown }: { view: SessionView; budget: Budget; breakdown: Breakdown }) {
  const [pointed, point] = useState("");
  const parts = partsOf(budget, breakdown);
  return (
    <>
      <Head budget={budget} breakdown={breakdown} draft={view.draft.figures.value} />
      <Bar budget={budget} parts={parts} pointed={pointed} point={point} />
      <Table budget={budget} breakdown={breakdown} parts={parts} pointed={pointed} point={point} />
      <Shares budget={budget} />
      <Omitted view={view} leftOut={breakdown.leftOut} />
      <Request view={view} />
    </>
  );
}

function Head({ budget, breakdown, draft }: { budget: Budget; breakdown: Breakdown; draft: DraftFigures | undefined }) {
  const warning = warningOf(budget);
  return (
    <header class="headline">
      <p class="headline-figure" data-used={budget.used}><Tokens n={budget.used} /> <span class="quiet">of <TokenCount n={budget.maxInputTokens} /></span></p>
      <p class="headline-words">
        <span data-percent={budget.percentUsed}>{percent(budget.used, budget.maxInputTokens)} of the window</span>
        {warning && <span class={warning.bad ? "mark bad" : "mark"} role="status">{warning.text}</span>}
        {budget.needsCompaction && <span class="mark">Compaction due</span>}
      </p>
      {draft && (
        <p class="headline-words">
          <span data-with-draft={draft.used}><Tokens n={draft.used} /> with the draft, {percent(draft.used, draft.maxInputTokens)} of the window</span>
        </p>
      )}
      <p class="note">
        {breakdown.model}{!budget.known && <>: unknown context window; <strong>default of {plural(budget.maxInputTokens, "token")}</strong></>}
      </p>
    </header>
  );
}

interface PartsProps {
  budget: Budget;
  parts: readonly Part[];
  pointed: string;
  point: (name: string) => void;
}

function Bar({ budget, parts, pointed, point }: PartsProps) {
  const length = barLength(budget, parts);
  const shown = parts.filter((p) => p.tokens > 0);
  const now = parts.find((p) => p.name === pointed);
  return (
    <>
      <div class="parts" role="group" aria-label="Context window by category" onMouseLeave={() => point("")}>
        {shown.map((p) => (
          <button key={p.name} type="button" class={`part part-${p.name}`} style={{ flexGrow: p.tokens / length }} data-part={p.name}
            aria-label={`${p.title}: ${plural(p.tokens, "token")}, ${percent(p.tokens, budget.maxInputTokens)} of the window`}
            onMouseEnter={() => point(p.name)} onFocus={() => point(p.name)} onBlur={() => point("")} />
        ))}
      </div>
      <p class="parts-now" aria-hidden="true">
        {now ? <>{now.title} <span class="quiet">{plural(now.tokens, "token")}, {percent(now.tokens, budget.maxInputTokens)}</span></>
          : <span class="quiet">Input limit <Tokens n={room(budget)} />, <Tokens n={budget.remaining} /> free</span>}
      </p>
    </>
  );
}

function Table({ budget, breakdown, parts, pointed, point }: PartsProps & { breakdown: Breakdown }) {
  const scale = ratio(budget, breakdown);
  const row = (p: Part) => (
    <tr key={p.name} class={p.name === pointed ? "pointed" : ""} data-category={p.name} data-tokens={p.tokens}
      onMouseEnter={() => point(p.name)} onMouseLeave={() => point("")}>
      <th scope="row"><span class={`swatch part-${p.name}`} aria-hidden="true" />{p.title}</th>
      <td class="number"><Tokens n={p.tokens} /></td>
      <td class="number">{percent(p.tokens, budget.maxInputTokens)}</td>
    </tr>
  );
  const contents = parts.filter((p) => p.name !== "free" && p.name !== "reserve");
  return (
    <>
      <table class="numbers">
        <caption class="hidden">Contents of the next request</caption>
        <thead><tr><th scope="col">Category</th><th scope="col" class="number">Tokens</th><th scope="col" class="number">Of the window</th></tr></thead>
        <tbody>{contents.map(row)}</tbody>
        <tbody class="sum">
          <tr data-category="used" data-tokens={budget.used}>
            <th scope="row">Total</th>
            <td class="number"><Tokens n={budget.used} /></td>
            <td class="number">{percent(budget.used, budget.maxInputTokens)}</td>
          </tr>
        </tbody>
        <tbody>{parts.filter((p) => p.name === "free" || p.name === "reserve").map(row)}</tbody>
      </table>
      <p class="note">
        {budget.calibrated ? `Calibrated: the provider counts ${scale.toFixed(2)} tokens per token counted by Strata.`
          : "Counted by Strata; not calibrated until the provider reports its count."}
      </p>
    </>
  );
}
