import type { ListedMessage, MessageChunk, Snapshot } from './protocol.js';

type Kind = 'agent_message_chunk' | 'agent_thought_chunk';

/** The progress of a text, in UTF-16 units. */
interface Progress {
  /** The start of the next chunk. */
  position: number;
  delivered: number;
}

/**
 * The text of one message while it is received: in chunks and, after a lost connection, as the whole text so far. It
 * delivers the new part of either, so that nothing is missing or repeated.
 */
export class Reply {
  readonly #deliver: (chunk: MessageChunk) => void;
  readonly #progress: Record<Kind, Progress> = {
    agent_message_chunk: { position: 0, delivered: 0 },
    agent_thought_chunk: { position: 0, delivered: 0 },
  };

  constructor(
    readonly messageId: string,
    deliver: (chunk: MessageChunk) => void,
  ) {
    this.#deliver = deliver;
  }

  /** Adds the next chunk. */
  chunk(kind: Kind, text: string): void {
    const progress = this.#progress[kind];
    const known = Math.max(0, progress.delivered - progress.position);
    progress.position += text.length;
    progress.delivered = Math.max(progress.delivered, progress.position);
    this.#deliverText(kind, text.slice(known));
  }

  /** Sets the whole text so far; the next chunk follows it. */
  soFar(kind: Kind, text: string): void {
    const progress = this.#progress[kind];
    this.#deliverText(kind, text.slice(progress.delivered));
    progress.position = text.length;
    progress.delivered = Math.max(progress.delivered, text.length);
  }

  /** Adds the text in a snapshot; returns whether the message has ended. */
  inSnapshot(snapshot: Snapshot): boolean {
    const { running } = snapshot;
    if (running?.messageId === this.messageId) {
      this.soFar('agent_thought_chunk', running.thought ?? '');
      this.soFar('agent_message_chunk', running.text);
      return false;
    }
    const message = snapshot.messages.find(({ id }) => id === this.messageId);
    if (message) this.stored(message);
    return message !== undefined;
  }

  /** Adds the text of the stored message. */
  stored(message: ListedMessage): void {
    const text = (type: 'text' | 'thinking') =>
      message.blocks.map((block) => (block.type === type ? ((block as { text?: string }).text ?? '') : '')).join('');
    this.soFar('agent_thought_chunk', text('thinking'));
    this.soFar('agent_message_chunk', text('text'));
  }

  #deliverText(sessionUpdate: Kind, text: string): void {
    if (text === '') return;
    this.#deliver({ sessionUpdate, content: { type: 'text', text }, messageId: this.messageId });
  }
}
