/** The number of chunks from which on they are joined: many programs write single characters. */
const MAX_CHUNKS = 1024;

/** The newest bytes of an output. */
export class Tail {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #size = 0;
  #isTruncated = false;

  /** `limit` is the number of bytes that are kept. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether the output was longer. */
  get isTruncated(): boolean {
    return this.#isTruncated;
  }

  /** The number of chunks that are held. */
  get chunks(): number {
    return this.#chunks.length;
  }

  add(chunk: Buffer): void {
    const kept = chunk.length > this.#limit ? chunk.subarray(chunk.length - this.#limit) : chunk;
    this.#chunks.push(kept);
    this.#size += kept.length;
    this.#isTruncated ||= kept !== chunk || this.#size > this.#limit;
    if (this.#chunks.length > MAX_CHUNKS) this.#join();
    while (this.#chunks[0] && this.#size - this.#chunks[0].length >= this.#limit) this.#size -= this.#chunks.shift()!.length;
  }

  #join(): void {
    const all = Buffer.concat(this.#chunks);
    const newest = all.subarray(Math.max(0, all.length - this.#limit));
    this.#chunks = [newest];
    this.#size = newest.length;
  }

  /** Returns the text of the newest bytes, from the first whole character. */
  text(): string {
    const all = Buffer.concat(this.#chunks);
    let start = Math.max(0, all.length - this.#limit);
    while (this.#isTruncated && start < all.length && (all[start]! & 0xc0) === 0x80) start++;
    return all.toString('utf8', start);
  }
}
