import { signal } from "@preact/signals";
import type { ListedMessage } from "@strata/client";
import type { SessionView } from "../store/session.ts";
import { reason } from "../store/toasts.ts";

/** Maximum number of messages of a print view: the newest ones. */
export const MAX_PRINTED = 5000;
const PAGE = 200;

/** Printed loads the messages of a session for printing, the newest page first. */
export class Printed {
  /** All messages, oldest first, when they are loaded. */
  readonly messages = signal<readonly ListedMessage[] | null>(null);
  readonly loaded = signal(0);
  /** There are older messages, which are not loaded. */
  readonly older = signal(false);
  readonly problem = signal("");
  private running = new AbortController();

  constructor(private readonly view: SessionView) {}

  close(): void {
    this.running.abort();
  }

  async load(): Promise<void> {
    this.close();
    const { signal } = (this.running = new AbortController());
    const pages: ListedMessage[][] = [];
    this.messages.value = null;
    this.problem.value = "";
    this.loaded.value = 0;
    let cursor: string | undefined;
    try {
      do {
        const page: { messages: ListedMessage[]; nextCursor?: string } =
          await this.view.call("_strata/history/list", { limit: PAGE, ...(cursor ? { cursor } : {}) }, { signal });
        if (signal.aborted) return;
        pages.unshift(page.messages);
        this.loaded.value += page.messages.length;
        cursor = page.nextCursor;
      } while (cursor !== undefined && this.loaded.value < MAX_PRINTED);
      this.older.value = cursor !== undefined;
      this.messages.value = pages.flat();
    } catch (error) {
      if (!signal.aborted) this.problem.value = reason(error);
    }
  }
}
