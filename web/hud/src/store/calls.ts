import { signal } from "@preact/signals";
import type { Call, Methods } from "@strata/client";
import { joined } from "../cost/calls.ts";
import type { SessionView } from "./session.ts";

/** Maximum number of loaded calls, in the plot and the table. */
export const MAX_CALLS = 5000;
const PAGE = 500;

/** CallLog holds the loaded part of a session's usage log, which ends with the newest call. */
export class CallLog {
  readonly calls = signal<readonly Call[]>([]);
  readonly older = signal(false);
  readonly loading = signal(false);
  private cursor: string | undefined;

  constructor(private readonly view: SessionView) {}

  /** take adds the newest page. */
  take(page: Methods["_strata/usage/list"]["result"]): void {
    const { calls, gap } = joined(this.calls.peek(), page.calls);
    this.calls.value = calls.slice(-MAX_CALLS);
    if (gap) this.setCursor(page.nextCursor);
  }

  private setCursor(cursor: string | undefined): void {
    this.cursor = cursor;
    this.older.value = cursor !== undefined && this.calls.peek().length < MAX_CALLS;
  }

  async loadOlder(): Promise<void> {
    const cursor = this.cursor;
    if (cursor === undefined || this.loading.peek()) return;
    this.loading.value = true;
    try {
      const page = await this.view.call("_strata/usage/list", { newest: true, limit: PAGE, cursor });
      if (this.cursor !== cursor) return;
      this.calls.value = [...page.calls, ...this.calls.peek()].slice(-MAX_CALLS);
      this.setCursor(page.nextCursor);
    } finally {
      this.loading.value = false;
    }
  }
}
