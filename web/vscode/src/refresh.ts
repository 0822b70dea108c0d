/**
 * Repeats work on request: one run at a time, and one more after it if there were requests meanwhile. Figures that events
 * outdate are fetched in this way: never concurrently, so that older ones cannot arrive last.
 */
export class Refresh {
  readonly #work: () => Promise<void>;
  #running = false;
  #again = false;

  /** `work` is run for each request. It must not reject. */
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
