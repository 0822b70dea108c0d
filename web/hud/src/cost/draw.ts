import uPlot from "uplot";
import { short } from "../text/format.ts";
import { kinds } from "./calls.ts";

/** A plot on the page. */
export interface Drawn {
  /** Shows the calls' numbers, the heights from the topmost kind down, and what was expected to be read. */
  show(data: uPlot.AlignedData): void;
  destroy(): void;
}

const HEIGHT = 180;
/** Bars are at most so wide, in pixels. */
const MAX_BAR = 26;

/** Draws an empty plot into an element and keeps it as wide as that. pointed is told the place of the call under the pointer. */
export function draw(place: HTMLElement, pointed: (index: number | null) => void): Drawn {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let data: uPlot.AlignedData = [[], ...kinds.map(() => []), []];
  let plot = make(place, data, pointed);
  const again = (): void => {
    plot.destroy();
    plot = make(place, data, pointed);
  };
  const size = new ResizeObserver(() => {
    if (place.clientWidth > 0 && place.clientWidth !== plot.width) plot.setSize({ width: place.clientWidth, height: HEIGHT });
  });
  size.observe(place);
  dark.addEventListener("change", again);
  return {
    show(next) {
      data = next;
      plot.setData(next);
    },
    destroy() {
      dark.removeEventListener("change", again);
      size.disconnect();
      plot.destroy();
    },
  };
}

function make(place: HTMLElement, data: uPlot.AlignedData, pointed: (index: number | null) => void): uPlot {
  const styles = getComputedStyle(place);
  const colour = (name: string): string => styles.getPropertyValue(name).trim();
  const font = `11px ${styles.fontFamily}`;
  const bars = uPlot.paths.bars?.({ size: [0.82, MAX_BAR, 1] });
  const axis = { stroke: colour("--quiet"), font, ticks: { show: false }, grid: { stroke: colour("--line"), width: 1 } };
  const filled = (id: string): uPlot.Series => ({ fill: colour(`--kind-${id}`), width: 0, points: { show: false }, ...(bars ? { paths: bars } : {}) });
  return new uPlot({
    width: Math.max(place.clientWidth, 120),
    height: HEIGHT,
    padding: [8, 4, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { time: false, range: (_, min, max) => [min - 0.6, max + 0.6] }, y: { range: (_, _min, max) => [0, Math.max(max * 1.05, 10)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 26, values: (_, all) => all.map((n) => (Number.isInteger(n) ? String(n) : "")) },
      { ...axis, size: 44, values: (_, all) => all.map(short) },
    ],
    series: [
      {},
      ...[...kinds].reverse().map((k) => filled(k.id)),
      {
        stroke: colour("--text"), width: 1.5, paths: () => null,
        points: { show: true, size: 5, width: 1, fill: colour("--raised"), stroke: colour("--text") },
      },
    ],
    hooks: { setCursor: [(u) => pointed(u.cursor.idx ?? null)] },
  }, data, place);
}
