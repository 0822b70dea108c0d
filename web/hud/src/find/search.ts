import { signal } from "@preact/signals";
import type { FoundPlace } from "@strata/client";
import type { SessionView } from "../store/session.ts";
import { countOf } from "./places.ts";

/** Delay between the last keystroke and the search, in milliseconds. */
const DEBOUNCE_MS = 120;
const PAGE = 1000;
/** Maximum number of places that are loaded. */
const MAX_PLACES = 10_000;

/** Search finds a text in all messages of a session. The server searches, in pages. */
export class Search {
  readonly places = signal<readonly FoundPlace[]>([]);
  readonly total = signal(0);
  /** The places are all there are. */
  readonly complete = signal(true);
  readonly problem = signal("");
  /** The text of the places. */
  readonly text = signal("");

  private timer = 0;
  private running = new AbortController();

  constructor(private readonly view: SessionView) {}

  /** find searches for a text after a moment, and calls done with the first places. */
  find(text: string, done: () => void): void {
    this.close();
    this.timer = setTimeout(() => void this.ask(text, done), DEBOUNCE_MS) as unknown as number;
  }

  close(): void {
    clearTimeout(this.timer);
    this.running.abort();
  }

  private async ask(text: string, done: () => void): Promise<void> {
    const { signal } = (this.running = new AbortController());
    let places: FoundPlace[] = [];
    let cursor: string | undefined;
    let first = true;
    try {
      do {
        const page: { places: FoundPlace[]; nextCursor?: string } =
          text.trim() === "" ? { places: [] } : await this.view.call("_strata/history/find", { text, limit: PAGE, ...(cursor ? { cursor } : {}) }, { signal });
        if (signal.aborted) return;
        places = [...places, ...page.places];
        cursor = page.nextCursor;
        this.take(text, places, cursor === undefined);
        if (first && (places.length > 0 || cursor === undefined)) {
          first = false;
          done();
        }
      } while (cursor !== undefined && places.length < MAX_PLACES);
    } catch (error) {
      if (signal.aborted) return;
      this.take(text, [], true);
      this.problem.value = error instanceof Error ? error.message : String(error);
    }
  }

  private take(text: string, places: readonly FoundPlace[], complete: boolean): void {
    this.problem.value = "";
    this.text.value = text;
    this.places.value = places;
    this.total.value = countOf(places);
    this.complete.value = complete;
  }
}
