/** The newest bytes of an output. */
export class Tail {
  readonly #limit: number;
  readonly #chunks: Buffer[] = [];
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

  add(chunk: Buffer): void {
    const kept = chunk.length > this.#limit ? chunk.subarray(chunk.length - this.#limit) : chunk;
    this.#chunks.push(kept);
    this.#size += kept.length;
    this.#isTruncated ||= kept !== chunk || this.#size > this.#limit;
    while (this.#chunks[0] && this.#size - this.#chunks[0].length >= this.#limit) this.#size -= this.#chunks.shift()!.length;
  }

  /** Returns the text of the newest bytes, from the first whole character. */
  text(): string {
    const all = Buffer.concat(this.#chunks);
    let start = Math.max(0, all.length - this.#limit);
    while (this.#isTruncated && start < all.length && (all[start]! & 0xc0) === 0x80) start++;
    return all.toString('utf8', start);
  }
}
