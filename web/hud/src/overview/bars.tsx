import type { SpentDay } from "@strata/client";
import { useState } from "preact/hooks";
import { plural } from "../text/format.ts";
import type { Measure } from "./words.ts";

const date = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });

/** dayOf formats a calendar day. */
export const dayOf = (iso: string): string => date.format(new Date(iso + "T00:00:00Z"));

/** A bar for each day. The table of days contains the same numbers for screen readers. */
export function Bars({ days, measure }: { days: readonly SpentDay[]; measure: Measure }) {
  const [pointed, point] = useState<number | null>(null);
  const most = Math.max(...days.map(measure.of), Number.MIN_VALUE);
  const day = pointed === null ? undefined : days[pointed];
  return (
    <figure class="day-bars">
      <svg viewBox={`0 0 ${days.length} 100`} preserveAspectRatio="none" aria-hidden="true" onMouseLeave={() => point(null)}>
        {days.map((d, i) => {
          const height = (100 * measure.of(d)) / most;
          return (
            <g key={d.date} data-day={d.date} onMouseEnter={() => point(i)}>
              <rect class="day-room" x={i} width={1} height={100} />
              <rect class="day-bar" x={i + 0.1} y={100 - height} width={0.8} height={height} />
            </g>
          );
        })}
      </svg>
      <figcaption>
        <span>{dayOf(days[0]?.date ?? "")}</span>
        <b>{day ? `${dayOf(day.date)}: ${measure.text(measure.of(day))}, ${plural(day.calls, "call")}` : `Highest day: ${measure.text(most === Number.MIN_VALUE ? 0 : most)}`}</b>
        <span>{dayOf(days.at(-1)?.date ?? "")}</span>
      </figcaption>
    </figure>
  );
}

/** The share of a row in the largest one, as a bar. */
export function Share({ part, most }: { part: number; most: number }) {
  return (
    <svg class="share-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="day-bar" width={most > 0 ? (100 * part) / most : 0} height={10} />
    </svg>
  );
}
