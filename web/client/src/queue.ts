/**
 * A queue of items between a producer and a consumer, which is an async iterator. The producer must bound it, using
 * `length` and `last`.
 */
export class Queue<T> implements AsyncIterableIterator<T> {
  #items: T[] = [];
  #head = 0;
  #waiting: { resolve: (result: IteratorResult<T>) => void; reject: (error: unknown) => void }[] = [];
  #end: { error?: unknown } | null = null;
  readonly #onReturn: () => void;
  readonly #onEmpty: () => void;

  /** `onReturn` is called when the consumer stops, `onEmpty` when it waits for an item. */
  constructor(onReturn: () => void = () => {}, onEmpty: () => void = () => {}) {
    this.#onReturn = onReturn;
    this.#onEmpty = onEmpty;
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** The item pushed last, if it is still in the queue. */
  get last(): T | undefined {
    return this.length > 0 ? this.#items[this.#items.length - 1] : undefined;
  }

  set last(item: T) {
    this.#items[this.#items.length - 1] = item;
  }

  push(item: T): void {
    if (this.#end) return;
    const waiter = this.#waiting.shift();
    if (waiter) waiter.resolve({ value: item, done: false });
    else this.#items.push(item);
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }

  /** Ends the iteration after the queued items, with an error if one is given. */
  end(error?: unknown): void {
    if (this.#end) return;
    this.#end = error === undefined ? {} : { error };
    for (const waiter of this.#waiting.splice(0)) this.#finish(waiter);
  }

  next(): Promise<IteratorResult<T>> {
    if (this.length > 0) return Promise.resolve({ value: this.#take(), done: false });
    return new Promise((resolve, reject) => {
      if (this.#end) return this.#finish({ resolve, reject });
      this.#waiting.push({ resolve, reject });
      this.#onEmpty();
    });
  }

  return(): Promise<IteratorResult<T>> {
    this.clear();
    this.#end = {};
    for (const waiter of this.#waiting.splice(0)) this.#finish(waiter);
    this.#onReturn();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): T {
    const item = this.#items[this.#head] as T;
    this.#items[this.#head++] = undefined as T;
    if (this.#head === this.#items.length) this.clear();
    else if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Settles a waiter at the end. The error is reported once; later calls get the end of the iteration. */
  #finish({ resolve, reject }: { resolve: (r: IteratorResult<T>) => void; reject: (e: unknown) => void }): void {
    if (this.#end && 'error' in this.#end) {
      const { error } = this.#end;
      this.#end = {};
      reject(error);
      return;
    }
    resolve({ value: undefined, done: true });
  }
}
