import type { Call } from "@strata/client";
import type uPlot from "uplot";
import { useEffect, useRef, useState } from "preact/hooks";
import { count, plural } from "../text/format.ts";
import { reason } from "../store/toasts.ts";
import { ESTIMATED } from "../ui/controls.tsx";
import { kinds, stacked } from "./calls.ts";
import type { Drawn } from "./draw.ts";

/** The stacked plot of calls with its legend. The table below contains the same numbers for screen readers. */
export function Plot({ calls, firstNumber, onOpen }: { calls: readonly Call[]; firstNumber: number; onOpen: (call: Call) => void }) {
  const element = useRef<HTMLDivElement>(null);
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  const [problem, setProblem] = useState("");
  const [pointed, point] = useState<number | null>(null);

  const clicked = useRef((_: number): void => {});
  clicked.current = (at) => {
    const call = calls[at];
    if (call) onOpen(call);
  };

  useEffect(() => {
    let unmounted = false;
    let plot: Drawn | null = null;
    import("./draw.ts").then(
      ({ draw }) => {
        if (unmounted || !element.current) return;
        plot = draw(element.current, point, (at) => clicked.current(at));
        setDrawn(plot);
      },
      (error: unknown) => setProblem(reason(error)),
    );
    return () => {
      unmounted = true;
      plot?.destroy();
    };
  }, []);
  useEffect(() => {
    const { x, tops, expected } = stacked(calls, firstNumber);
    drawn?.show([x, ...[...tops].reverse(), expected] as uPlot.AlignedData);
  }, [drawn, calls, firstNumber]);

  const call = pointed === null ? undefined : calls[pointed];
  return (
    <figure class="plot" aria-label={`Tokens of ${plural(calls.length, "call")}; the numbers are in the table below`}>
      <div ref={element} class="plot-area" aria-hidden="true" />
      {problem !== "" && <p class="note bad">Cannot load the plot: {problem}</p>}
      <figcaption class="legend">
        {kinds.map((k) => (
          <span key={k.id} class="legend-entry"><span class={`swatch kind-${k.id}`} aria-hidden="true" />{k.title}{call && <b title={call.estimated ? ESTIMATED : undefined}>{call.estimated && "~"}{count(k.of(call))}</b>}</span>
        ))}
        <span class="legend-entry"><span class="swatch kind-expected" aria-hidden="true" />Expected cache reads{call && <b>{count(call.expectedCacheRead)}</b>}</span>
        <span class="legend-entry quiet">{call ? `Call ${firstNumber + (pointed ?? 0)}, ${call.purpose}` : `Tokens, ${plural(calls.length, "call")}`}</span>
      </figcaption>
    </figure>
  );
}
