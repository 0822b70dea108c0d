/**
 * Runs a piece of work again whenever it is asked for: at most one run at a time, and one more after it however often it was
 * asked for meanwhile. Figures that events outdate are fetched like this: never twice at once, and never older ones last.
 */
export class Refresh {
  readonly #work: () => Promise<void>;
  #running = false;
  #again = false;

  /** `work` must not reject. */
  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  request(): void {
    this.#again = true;
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#again) {
      this.#again = false;
      await this.#work();
    }
    this.#running = false;
  }
}
