import { signal } from "@preact/signals";
import type { OutlineHit } from "@strata/client";
import type { SessionView } from "./session.ts";
import { reason } from "./toasts.ts";

/** Delay between the last keystroke and the search, in milliseconds. */
const DEBOUNCE_MS = 180;

/** Maximum number of results. */
export const MAX_RESULTS = 50;

/** The file whose outline is shown, and the line of the symbol that was found. */
export interface Chosen {
  path: string;
  line: number;
}

/** WorkspaceSearch is the search for symbols and files of a session's folder. The results are those of the newest query. */
export class WorkspaceSearch {
  readonly query = signal("");
  /** The results; null before the first for this query or if the search failed. */
  readonly hits = signal<readonly OutlineHit[] | null>(null);
  readonly searching = signal(false);
  readonly problem = signal("");
  /** Index of the result that Enter opens. */
  readonly active = signal(0);
  readonly chosen = signal<Chosen | null>(null);

  /** Enter was pressed before the results arrived. */
  private opens = false;
  private running = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly view: SessionView) {}

  /** search searches for a text after a short delay. Earlier searches are cancelled. */
  search(text: string): void {
    this.query.value = text;
    this.chosen.value = null;
    this.active.value = 0;
    this.opens = false;
    this.stop();
    if (text.trim() === "") {
      this.hits.value = null;
      this.problem.value = "";
      return;
    }
    this.searching.value = true;
    this.timer = setTimeout(() => void this.ask(), DEBOUNCE_MS);
  }

  /** repeat searches for the same text again, because the results may be out of date. */
  repeat(): void {
    if (this.query.peek().trim() === "") return;
    this.stop();
    void this.ask();
  }

  /** move selects the next or the previous result. */
  move(step: number): void {
    const many = this.hits.peek()?.length ?? 0;
    this.active.value = Math.max(Math.min(this.active.peek() + step, many - 1), 0);
  }

  /** choose opens the selected result, of a search that is running as soon as that has ended. */
  choose(): void {
    this.opens = this.searching.peek();
    const hit = this.hits.peek()?.[this.active.peek()];
    if (hit && !this.opens) this.chosen.value = { path: hit.path, line: hit.line ?? 0 };
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.running.abort();
    this.searching.value = false;
  }

  private async ask(): Promise<void> {
    const request = (this.running = new AbortController());
    this.searching.value = true;
    try {
      const found = await this.view.call("_strata/outline/search", { query: this.query.peek(), limit: MAX_RESULTS }, { signal: request.signal });
      if (request.signal.aborted) return;
      this.hits.value = found.symbols;
      this.problem.value = "";
      this.move(0);
      this.view.index.replace(found.index);
      this.searching.value = false;
      if (this.opens) this.choose();
    } catch (error) {
      if (request.signal.aborted) return;
      this.hits.value = null;
      this.problem.value = reason(error);
      this.searching.value = false;
    }
  }
}
