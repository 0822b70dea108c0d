import { signal } from "@preact/signals";
import type { Call, Methods } from "@strata/client";
import { joined } from "../cost/calls.ts";
import type { SessionView } from "./session.ts";

/** Calls that are held at most; the plot and the table show no more. */
export const MAX_CALLS = 5000;
const PAGE = 500;

/** CallLog is the stretch of a session's usage log from its newest call back to as far as somebody looked. */
export class CallLog {
  readonly calls = signal<readonly Call[]>([]);
  readonly older = signal(false);
  readonly loading = signal(false);
  private cursor: string | undefined;

  constructor(private readonly view: SessionView) {}

  /** Takes in the newest page. */
  take(page: Methods["_strata/usage/list"]["result"]): void {
    const { calls, gap } = joined(this.calls.peek(), page.calls);
    this.calls.value = calls.slice(-MAX_CALLS);
    if (gap) this.turnTo(page.nextCursor);
  }

  private turnTo(cursor: string | undefined): void {
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
      this.turnTo(page.nextCursor);
    } finally {
      this.loading.value = false;
    }
  }
}
