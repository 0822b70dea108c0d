import { signal } from "@preact/signals";

/**
 * Fetched is a value of the server shown by a panel. It is fetched while a component watches it and again after each
 * change, and is stale from the loss of the connection until the next fetch. At most one request runs; changes during a
 * request cause one further request.
 */
export class Fetched<T> {
  readonly value = signal<T | undefined>(undefined);
  /** Time of the last successful fetch; undefined before the first. */
  readonly at = signal<Date | undefined>(undefined);
  /** Why the newest request failed, "" if it succeeded. */
  readonly failure = signal("");
  /** The value may be out of date. */
  readonly stale = signal(false);
  readonly busy = signal(false);

  private viewers = 0;
  private outdated = true;
  private repeat = false;

  constructor(
    private readonly fetch: () => Promise<T>,
    private readonly reachable: () => boolean,
  ) {}

  /** watch keeps the value up to date until the returned function is called. */
  watch(): () => void {
    this.viewers++;
    if (this.outdated) void this.run();
    return () => {
      this.viewers--;
    };
  }

  /** changed marks the value as outdated and fetches it again if it is watched. */
  changed(): void {
    this.outdated = true;
    if (this.viewers > 0) void this.run();
  }

  /** replace replaces the value with a newer one, which came as an event or in another result. */
  replace(value: T): void {
    this.value.value = value;
    this.at.value = new Date();
    this.failure.value = "";
  }

  /** lost marks the value as stale after the loss of the connection. */
  lost(): void {
    this.outdated = true;
    this.stale.value = this.value.value !== undefined;
  }

  private async run(): Promise<void> {
    if (!this.reachable()) return;
    if (this.busy.value) {
      this.repeat = true;
      return;
    }
    this.busy.value = true;
    do {
      this.repeat = false;
      this.outdated = false;
      await this.once();
    } while (this.repeat);
    this.busy.value = false;
  }

  private async once(): Promise<void> {
    try {
      const value = await this.fetch();
      this.value.value = value;
      this.at.value = new Date();
      this.failure.value = "";
      this.stale.value = this.outdated && !this.repeat;
    } catch (error) {
      this.failure.value = error instanceof Error ? error.message : String(error);
      this.stale.value = this.value.value !== undefined;
      this.outdated = true;
    }
  }
}
