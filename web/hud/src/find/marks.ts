import type { Located } from "./places.ts";
import { rangesIn } from "./text.ts";

/** Maximum number of matches that are marked at the same time. */
const MAX_MARKS = 2000;
/** Maximum number of frames to wait for a row, and the number during which a match has to stay in view. */
const MAX_FRAMES = 240;
const STABLE_FRAMES = 6;
/** Pixels at the top of the list that the find bar covers. */
const BAR = 64;

/**
 * Marks marks the matches in view with the browser's highlights, which leave the document as it is. It follows the rows that
 * the list draws.
 */
export class Marks {
  private phrase = "";
  private here: Located | null = null;
  private frame = 0;
  private readonly observer = new MutationObserver(() => this.soon());

  constructor(private readonly list: Element) {
    this.observer.observe(list, { childList: true, subtree: true, characterData: true });
  }

  close(): void {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    this.set([], undefined);
  }

  /** show marks a phrase, and one of the matches as the present one. */
  show(phrase: string, here: Located | null): void {
    this.phrase = phrase;
    this.here = here;
    this.soon();
  }

  private soon(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.mark());
  }

  private mark(): void {
    const ranges = this.phrase === "" ? [] : [...this.list.querySelectorAll(".window-row")].flatMap((row) => rangesIn(row, this.phrase));
    this.set(ranges.slice(0, MAX_MARKS), this.present());
  }

  private set(all: Range[], here: Range | undefined): void {
    if (!("highlights" in CSS)) return;
    CSS.highlights.set("found", new Highlight(...all));
    const present = new Highlight(...(here ? [here] : []));
    present.priority = 1;
    CSS.highlights.set("found-here", present);
  }

  private row(): Element | null {
    return this.here && this.list.querySelector(`.window-row[data-key="${CSS.escape(this.here.key)}"]`);
  }

  private present(): Range | undefined {
    const row = this.row();
    return row && this.here ? rangesIn(row, this.phrase).at(this.here.nth) : undefined;
  }

  /**
   * bring scrolls to the present match when its row is drawn, until it stays in view: rows around it are measured meanwhile. A
   * match that is not shown, as in the address of a link, leaves its row in view.
   */
  bring(frames = MAX_FRAMES, stable = 0): void {
    const wanted = this.here;
    const range = this.present();
    const rests = range !== undefined && !scrollTo(range, this.list);
    if (frames === 0 || !wanted || (rests && stable === STABLE_FRAMES)) return;
    requestAnimationFrame(() => this.here === wanted && this.bring(frames - 1, rests ? stable + 1 : 0));
  }
}

/** scrollTo scrolls the elements around a range, up to the list, so that it is in view. It reports whether that was needed. */
function scrollTo(range: Range, list: Element): boolean {
  let moved = false;
  for (let e = range.startContainer.parentElement; e; e = e.parentElement) {
    const [at, box, from] = [range.getBoundingClientRect(), e.getBoundingClientRect(), [e.scrollTop, e.scrollLeft]];
    if (e === list || /auto|scroll/.test(getComputedStyle(e).overflow)) {
      if (at.top < box.top + BAR || at.bottom > box.bottom - 16) e.scrollTop += at.top - box.top - box.height / 3;
      if (at.left < box.left || at.right > box.right) e.scrollLeft += at.left - box.left - box.width / 3;
    }
    moved ||= e.scrollTop !== from[0] || e.scrollLeft !== from[1];
    if (e === list) break;
  }
  return moved;
}
