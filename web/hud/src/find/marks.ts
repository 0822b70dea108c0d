import type { Located } from "./places.ts";
import { rangesIn } from "./text.ts";

/** Maximum number of matches that are marked at the same time. */
const MAX_MARKS = 2000;
/** Maximum number of frames to wait for a row. */
const MAX_FRAMES = 240;

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

  /** bring scrolls to the present match when its row is drawn. A match that is not shown, as in an address, leaves its row in view. */
  bring(frames = MAX_FRAMES): void {
    const wanted = this.here;
    const range = this.present();
    if (range) scrollTo(range, this.list);
    else if (frames > 0 && wanted) requestAnimationFrame(() => this.here === wanted && this.bring(frames - 1));
  }
}

/** scrollTo scrolls the elements around a range, up to the list, so that it is in view. */
function scrollTo(range: Range, list: Element): void {
  for (let e = range.startContainer.parentElement; e; e = e.parentElement) {
    const [at, box] = [range.getBoundingClientRect(), e.getBoundingClientRect()];
    if (e === list || /auto|scroll/.test(getComputedStyle(e).overflow)) {
      if (at.top < box.top + 40 || at.bottom > box.bottom - 40) e.scrollTop += at.top - box.top - box.height / 3;
      if (at.left < box.left || at.right > box.right) e.scrollLeft += at.left - box.left - box.width / 3;
    }
    if (e === list) return;
  }
}
