import type { CacheMark, Call } from "@strata/client";
import type { TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { fully, plural, when } from "../text/format.ts";
import { Tokens } from "../ui/controls.tsx";
import { heightOf, laneParts, markWords, missedOf, partWords, type LanePart } from "./lane-parts.ts";

/** Width of a part, and heights of the bars and of the symbols above them, in pixels. */
const WIDTH = 10;
const BARS = 60;
const SYMBOLS = 14;

interface LaneProps {
  calls: readonly Call[];
  firstNumber: number;
  marks: readonly CacheMark[];
}

/** What each call read from the cache, wrote and missed, with edits and expiries between them. The keys of arrows select a part. */
export function Lane({ calls, firstNumber, marks }: LaneProps) {
  const [most, setMost] = useState(0);
  const [selected, select] = useState(-1);
  const area = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    const measure = (): void => setMost(Math.max(Math.floor(element.clientWidth / WIDTH), 1));
    const size = new ResizeObserver(measure);
    size.observe(element);
    measure();
    return () => size.disconnect();
  }, []);
  const parts = useMemo(() => (most > 0 ? laneParts(calls, firstNumber, marks, most) : []), [calls, firstNumber, marks, most]);
  const part = parts[selected];

  const keys = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const end = parts.length - 1;
    const now = selected < 0 ? end + 1 : selected;
    const to = { ArrowLeft: Math.max(now - 1, 0), ArrowRight: Math.min(now + 1, end), Home: 0, End: end, Escape: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (event.key !== "Escape" || selected >= 0) event.stopPropagation();
    select(to);
  };
  const point = (event: TargetedPointerEvent<HTMLDivElement>): void => select(Math.floor((event.clientX - event.currentTarget.getBoundingClientRect().left) / WIDTH));

  return (
    <section class="card" aria-labelledby="lane">
      <h2 id="lane">Cache over time</h2>
      <div ref={area} class="lane" tabIndex={0} role="group" aria-label={`The newest ${plural(parts.length, "call or event", "calls and events")}; arrow keys select one`}
        onKeyDown={keys} onPointerMove={point} onPointerLeave={() => select(-1)} onBlur={() => select(-1)}>
        <Bars parts={parts} selected={selected} />
      </div>
      <p class="lane-words" role="status">
        {part ? partWords(part) : (
          <>
            <span class="legend-entry"><span class="swatch kind-read" aria-hidden="true" />Read</span>
            <span class="legend-entry"><span class="swatch kind-written" aria-hidden="true" />Written</span>
            <span class="legend-entry"><span class="swatch lane-missed" aria-hidden="true" />Missed</span>
            {(["expiry", "compaction", "edit"] as const).map((kind) => <span key={kind} class="legend-entry"><Symbol kind={kind} />{legends[kind]}</span>)}
          </>
        )}
      </p>
      <details>
        <summary>As a table</summary>
        <LaneTable parts={parts} />
      </details>
    </section>
  );
}

const legends = { expiry: "Expiry", compaction: "Compaction", edit: "Edit" } as const;

/** The outlines of the symbols, 8 pixels wide and high. */
const outlines = { expiry: "M1 1L7 7M7 1L1 7", compaction: "M4 0L8 4L4 8L0 4Z", edit: "M4 0.5L8 7.5H0Z" } as const;

const outlineOf = (kind: string): string => outlines[kind as keyof typeof outlines] ?? outlines.edit;

function Symbol({ kind }: { kind: string }) {
  return <svg class={`lane-symbol ${kind}`} width="10" height="10" viewBox="-1 -1 10 10" aria-hidden="true"><path d={outlineOf(kind)} /></svg>;
}

function Bars({ parts, selected }: { parts: readonly LanePart[]; selected: number }) {
  const top = Math.max(1, ...parts.map((p) => (p.kind === "call" ? heightOf(p.call) : 0)));
  const height = (tokens: number): number => (BARS * Math.min(tokens, top)) / top;
  const all = SYMBOLS + BARS;
  const bar = (name: string, from: number, tokens: number) => tokens > 0 && <rect class={name} x="1" y={all - height(from + tokens)} width={WIDTH - 2} height={height(tokens)} />;
  return (
    <svg width={parts.length * WIDTH} height={all} aria-hidden="true">
      {parts.map((part, i) => (
        <g key={part.kind === "call" ? part.call.callId : `${part.mark.kind} ${part.mark.at} ${part.mark.editId ?? ""}`} transform={`translate(${i * WIDTH})`} data-lane={part.kind === "call" ? "call" : part.mark.kind}>
          {i === selected && <rect class="selected" width={WIDTH} height={all} />}
          {part.kind === "mark" ? <path class={`lane-symbol ${part.mark.kind}`} transform="translate(1 3)" d={`${outlineOf(part.mark.kind)}M4 10V${all - 3}`} /> : (
            <>
              {bar("read", 0, part.call.cacheRead)}
              {bar("written", part.call.cacheRead, part.call.cacheWrite)}
              {bar("missed", part.call.cacheRead, missedOf(part.call))}
            </>
          )}
        </g>
      ))}
    </svg>
  );
}

function LaneTable({ parts }: { parts: readonly LanePart[] }) {
  return (
    <table class="numbers" aria-labelledby="lane">
      <thead><tr><th scope="col">Time</th><th scope="col">Event</th><th scope="col" class="number">Read</th><th scope="col" class="number">Written</th><th scope="col" class="number">Missed</th></tr></thead>
      <tbody>
        {[...parts].reverse().map((part) => (part.kind === "mark" ? (
          <tr key={`${part.mark.kind} ${part.mark.at} ${part.mark.editId ?? ""}`}><At at={part.mark.at} /><td colSpan={4}>{markWords(part.mark)}</td></tr>
        ) : (
          <tr key={part.call.callId} data-lane-call={part.call.callId} data-missed={missedOf(part.call)}>
            <At at={part.call.at} /><td>Call {part.number}</td>
            <td class="number"><Tokens n={part.call.cacheRead} /></td><td class="number"><Tokens n={part.call.cacheWrite} /></td><td class="number"><Tokens n={missedOf(part.call)} /></td>
          </tr>
        )))}
      </tbody>
    </table>
  );
}

const At = ({ at }: { at: string }) => <td><time dateTime={at} title={fully(at)}>{when(at)}</time></td>;
