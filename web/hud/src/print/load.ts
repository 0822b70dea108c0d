import { signal } from "@preact/signals";
import { pages, type ListedMessage } from "@strata/client";
import { call } from "../store/connection.ts";
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
    const read: ListedMessage[][] = [];
    this.messages.value = null;
    this.problem.value = "";
    this.loaded.value = 0;
    let older = false;
    try {
      for await (const { messages, nextCursor } of pages({ call }, "_strata/history/list", { sessionId: this.view.id, limit: PAGE }, { signal })) {
        if (signal.aborted) return;
        read.unshift(messages);
        this.loaded.value += messages.length;
        older = nextCursor !== undefined;
        if (this.loaded.value >= MAX_PRINTED) break;
      }
      this.older.value = older;
      this.messages.value = read.flat();
    } catch (error) {
      if (!signal.aborted) this.problem.value = reason(error);
    }
  }
}
