/** A document whose version changes with its text. */
interface Versioned {
  readonly version: number;
}

/**
 * The versions of documents that sessions have read last. The user may type between the server's last look at a text and its
 * edit; the edit is then refused, because it would be one of another text.
 */
export class ReadVersions {
  /** By document and session. They are forgotten with the document. */
  readonly #versions = new WeakMap<Versioned, Map<string, number>>();

  /** Notes that a session has read a document. */
  add(document: Versioned, sessionId: string): void {
    const versions = this.#versions.get(document) ?? new Map<string, number>();
    this.#versions.set(document, versions.set(sessionId, document.version));
  }

  /** Reports whether a session has read the newest text of a document, or never read any. */
  isNewest(document: Versioned, sessionId: string): boolean {
    const read = this.#versions.get(document)?.get(sessionId);
    return read === undefined || read === document.version;
  }
}
