import type { ListedMessage, MessageChunk, Snapshot } from './protocol.js';

type Kind = 'agent_message_chunk' | 'agent_thought_chunk';

/** How far a text has come, in UTF-16 units. */
interface Progress {
  /** Where the next piece begins. */
  position: number;
  delivered: number;
}

/**
 * The text of one message as it comes, in pieces and, where the connection was lost, as a whole so far: it tells what of
 * either is new.
 */
export class Answer {
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

  /** Takes the next piece. */
  piece(kind: Kind, text: string): void {
    const progress = this.#progress[kind];
    const known = Math.max(0, progress.delivered - progress.position);
    progress.position += text.length;
    progress.delivered = Math.max(progress.delivered, progress.position);
    this.#tell(kind, text.slice(known));
  }

  /** Takes the text so far; the next piece follows it. */
  soFar(kind: Kind, text: string): void {
    const progress = this.#progress[kind];
    this.#tell(kind, text.slice(progress.delivered));
    progress.position = text.length;
    progress.delivered = Math.max(progress.delivered, text.length);
  }

  /** Takes what a snapshot shows of the message; says whether it shows it as ended. */
  shown(snapshot: Snapshot): boolean {
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

  /** Takes the message as it was stored. */
  stored(message: ListedMessage): void {
    const text = (type: 'text' | 'thinking') =>
      message.blocks.map((block) => (block.type === type ? ((block as { text?: string }).text ?? '') : '')).join('');
    this.soFar('agent_thought_chunk', text('thinking'));
    this.soFar('agent_message_chunk', text('text'));
  }

  #tell(sessionUpdate: Kind, text: string): void {
    if (text === '') return;
    this.#deliver({ sessionUpdate, content: { type: 'text', text }, messageId: this.messageId });
  }
}
