import uPlot from "uplot";
import { short } from "../text/format.ts";
import { THEME_CHANGED } from "../ui/media.ts";
import { kinds, ticksOf } from "./calls.ts";

/** A plot on the page. */
export interface Drawn {
  /** Shows call numbers, the stacked heights from the top kind down, and expected cache reads. */
  show(data: uPlot.AlignedData): void;
  destroy(): void;
}

const HEIGHT = 180;
/** Distance of the numbers of calls at the axis, in pixels. */
const TICK = 44;
/** Maximum width of a bar, in pixels. */
const MAX_BAR = 26;

/** draw draws an empty plot into an element and follows its width. It calls pointed with the index of the call under the pointer, and clicked with that of a clicked call. */
export function draw(element: HTMLElement, pointed: (index: number | null) => void, clicked: (index: number) => void): Drawn {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let data: uPlot.AlignedData = [[], ...kinds.map(() => []), []];
  let plot = make(element, data, pointed);
  const click = (event: MouseEvent): void => {
    if (event.target === plot.over) clicked(plot.posToIdx(event.offsetX));
  };
  element.addEventListener("click", click);
  const redraw = (): void => {
    plot.destroy();
    plot = make(element, data, pointed);
  };
  const size = new ResizeObserver(() => {
    if (element.clientWidth > 0 && element.clientWidth !== plot.width) plot.setSize({ width: element.clientWidth, height: HEIGHT });
  });
  size.observe(element);
  dark.addEventListener("change", redraw);
  addEventListener(THEME_CHANGED, redraw);
  return {
    show(next) {
      data = next;
      plot.setData(next);
    },
    destroy() {
      dark.removeEventListener("change", redraw);
      removeEventListener(THEME_CHANGED, redraw);
      element.removeEventListener("click", click);
      size.disconnect();
      plot.destroy();
    },
  };
}

/** ticks returns the numbers at the axis of the calls, in the order of the data. */
function ticks(u: uPlot): number[] {
  const calls = u.data[0];
  const [first, last] = [calls[0], calls[calls.length - 1]];
  return first === undefined || last === undefined ? [] : ticksOf(first, last, Math.floor(u.width / TICK));
}

function make(element: HTMLElement, data: uPlot.AlignedData, pointed: (index: number | null) => void): uPlot {
  const styles = getComputedStyle(element);
  const color = (name: string): string => styles.getPropertyValue(name).trim();
  const font = `11px ${styles.fontFamily}`;
  const bars = uPlot.paths.bars?.({ size: [0.82, MAX_BAR, 1] });
  const axis = { stroke: color("--quiet"), font, ticks: { show: false }, grid: { stroke: color("--line"), width: 1 } };
  const filled = (id: string): uPlot.Series => ({ fill: color(`--kind-${id}`), width: 0, points: { show: false }, ...(bars ? { paths: bars } : {}) });
  return new uPlot({
    width: Math.max(element.clientWidth, 120),
    height: HEIGHT,
    padding: [8, 4, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { time: false, range: (_, min, max) => [min - 0.6, max + 0.6] }, y: { range: (_, _min, max) => [0, Math.max(max * 1.05, 10)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 26, splits: (u) => ticks(u), values: (_, all) => all.map(String) },
      { ...axis, size: 44, values: (_, all) => all.map(short) },
    ],
    series: [
      {},
      ...[...kinds].reverse().map((k) => filled(k.id)),
      {
        stroke: color("--text"), width: 1.5, paths: () => null,
        points: { show: true, size: 5, width: 1, fill: color("--raised"), stroke: color("--text") },
      },
    ],
    hooks: { setCursor: [(u) => pointed(u.cursor.idx ?? null)] },
  }, data, element);
}
