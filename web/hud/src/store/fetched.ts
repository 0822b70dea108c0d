import { signal } from "@preact/signals";

/**
 * Fetched is a value of the server's that a panel shows: asked for while somebody looks, again after what changes it,
 * and marked as stale from the loss of the connection until it was asked for again. One request of it is under way at
 * most; changes meanwhile lead to one more.
 */
export class Fetched<T> {
  readonly value = signal<T | undefined>(undefined);
  /** When the value came; undefined before the first. */
  readonly at = signal<Date | undefined>(undefined);
  /** Why the newest request brought no value, "" where it did. */
  readonly failure = signal("");
  /** The value may be older than the server's. */
  readonly stale = signal(false);
  readonly busy = signal(false);

  private viewers = 0;
  private due = true;
  private again = false;

  constructor(
    private readonly fetch: () => Promise<T>,
    private readonly reachable: () => boolean,
  ) {}

  /** Keeps the value up to date until the function that it returns is called. */
  watch(): () => void {
    this.viewers++;
    if (this.due) void this.run();
    return () => {
      this.viewers--;
    };
  }

  /** What the server would answer has changed, or may have. */
  changed(): void {
    this.due = true;
    if (this.viewers > 0) void this.run();
  }

  /** The connection was lost: nobody knows what changes meanwhile. */
  lost(): void {
    this.due = true;
    this.stale.value = this.value.value !== undefined;
  }

  private async run(): Promise<void> {
    if (!this.reachable()) return;
    if (this.busy.value) {
      this.again = true;
      return;
    }
    this.busy.value = true;
    do {
      this.again = false;
      this.due = false;
      await this.once();
    } while (this.again);
    this.busy.value = false;
  }

  private async once(): Promise<void> {
    try {
      const value = await this.fetch();
      this.value.value = value;
      this.at.value = new Date();
      this.failure.value = "";
      this.stale.value = this.due && !this.again;
    } catch (error) {
      this.failure.value = error instanceof Error ? error.message : String(error);
      this.stale.value = this.value.value !== undefined;
      this.due = true;
    }
  }
}
