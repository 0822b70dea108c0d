/**
 * Repeats work on request: one run at a time, and one more after it if there were requests meanwhile. Figures that events
 * outdate are fetched in this way: never concurrently, so that older ones cannot arrive last.
 */
export class Refresh {
  readonly #work: () => Promise<void>;
  readonly #pause: () => Promise<void>;
  #running = false;
  #again = false;

  /** `work` must not reject. `pause` follows each run, by default 100 ms: a burst of events then causes few runs. */
  constructor(work: () => Promise<void>, pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100))) {
    this.#work = work;
    this.#pause = pause;
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
      await this.#pause();
    }
    this.#running = false;
  }
}
