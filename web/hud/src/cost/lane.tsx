import type { CacheMark, Call } from "@strata/client";
import type { TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { fully, plural, when } from "../text/format.ts";
import { Tokens } from "../ui/controls.tsx";
import { laneParts, markWords, missedOf, partWords, sharesOf, type LanePart } from "./lane-parts.ts";

/** Least and greatest width of a part, and heights of the bars and of the symbols above them, in pixels. */
const NARROW = 10;
const WIDE = 22;
const BARS = 36;
const SYMBOLS = 14;

interface LaneProps {
  calls: readonly Call[];
  firstNumber: number;
  marks: readonly CacheMark[];
}

/** The shares of each call's input that were read from the cache, written and missed, with edits and expiries between the calls. The arrow keys select a part. */
export function Lane({ calls, firstNumber, marks }: LaneProps) {
  const [room, setRoom] = useState(0);
  const [selected, select] = useState(-1);
  const area = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    const measure = (): void => setRoom(element.clientWidth);
    const size = new ResizeObserver(measure);
    size.observe(element);
    measure();
    return () => size.disconnect();
  }, []);
  const most = Math.floor(room / NARROW);
  const parts = useMemo(() => (most > 0 ? laneParts(calls, firstNumber, marks, most) : []), [calls, firstNumber, marks, most]);
  const width = Math.min(WIDE, Math.floor(room / Math.max(parts.length, 1)));
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
  const point = (event: TargetedPointerEvent<HTMLDivElement>): void => select(Math.floor((event.clientX - event.currentTarget.getBoundingClientRect().left) / width));

  return (
    <section class="card" aria-labelledby="lane">
      <h2 id="lane">Cache over time</h2>
      <div ref={area} class="lane" tabIndex={0} role="group" aria-label={`The newest ${plural(parts.length, "call or event", "calls and events")}; arrow keys select one`}
        onKeyDown={keys} onPointerMove={point} onPointerLeave={() => select(-1)} onBlur={() => select(-1)}>
        <Bars parts={parts} width={width} selected={selected} />
      </div>
      <p class="lane-words" role="status">
        {part ? partWords(part) : (
          <>
            <span class="legend-entry"><span class="swatch kind-read" aria-hidden="true" />Read</span>
            <span class="legend-entry"><span class="swatch kind-written" aria-hidden="true" />Written</span>
            <span class="legend-entry"><span class="swatch lane-rest" aria-hidden="true" />Uncached</span>
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

function Bars({ parts, width, selected }: { parts: readonly LanePart[]; width: number; selected: number }) {
  const all = SYMBOLS + BARS;
  return (
    <svg width={parts.length * width} height={all} aria-hidden="true">
      {parts.map((part, i) => (
        <g key={part.kind === "call" ? part.call.callId : `${part.mark.kind} ${part.mark.at} ${part.mark.editId ?? ""}`} transform={`translate(${i * width})`} data-lane={part.kind === "call" ? "call" : part.mark.kind}>
          {i === selected && <rect class="selected" width={width} height={all} />}
          {part.kind === "mark" ? <path class={`lane-symbol ${part.mark.kind}`} transform={`translate(${width / 2 - 4} 3)`} d={`${outlineOf(part.mark.kind)}M4 10V${all - 3}`} /> : (
            <Bar call={part.call} width={width} />
          )}
        </g>
      ))}
    </svg>
  );
}

/** The bar of a call: its input, full height. */
function Bar({ call, width }: { call: Call; width: number }) {
  const { read, written, missed } = sharesOf(call);
  const piece = (name: string, from: number, share: number) => share > 0 && <rect class={name} x="1" y={SYMBOLS + BARS * (1 - from - share)} width={width - 2} height={BARS * share} />;
  return (
    <>
      <rect class="input" x="1" y={SYMBOLS} width={width - 2} height={BARS} />
      {piece("read", 0, read)}
      {piece("written", read, written)}
      {piece("missed", read, missed)}
    </>
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
