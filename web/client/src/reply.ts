import { Calls } from './calls.js';
import { LimitExceeded } from './errors.js';
import type { ListedMessage, MessageChunk, Plan, Snapshot, ToolCall, Update } from './protocol.js';

/** The maximum length of the text kept for `text`, in characters. The server limits the message of a step to 2 MiB. */
export const MAX_TEXT = 4 << 20;

/** The maximum number of messages whose progress is kept; those of the oldest are complete. */
const MAX_MESSAGES = 10_000;

/**
 * The reply of a turn: the messages of its steps, in order, and their calls. It is received in updates and, after a lost
 * connection, from a snapshot and from stored messages, and delivers the new part of either.
 */
export class Reply {
  readonly #deliver: (update: Update) => void;
  readonly #messages = new Map<string, MessageText>();
  readonly #calls = new Calls();
  #plan = '';
  #text: string[] = [];
  #textLength = 0;
  #last: string | null = null; // the message of the newest text

  constructor(
    readonly turnId: string,
    deliver: (update: Update) => void,
  ) {
    this.#deliver = deliver;
  }

  /** Adds the next update of the session, which may be one of another kind. */
  update(update: Update): void {
    switch (update.sessionUpdate) {
      case 'user_message_chunk':
        return;
      case 'agent_message_chunk':
      case 'agent_thought_chunk':
        if (update.content?.type !== 'text') return this.#deliver(update);
        return this.#message(update.messageId).chunk(update.sessionUpdate, String(update.content.text));
      case 'tool_call':
      case 'tool_call_update': {
        const news = this.#calls.add(update);
        if (news) this.#deliver(news);
        return;
      }
      case 'plan':
        return this.#planned(update);
      default:
        return this.#deliver(update);
    }
  }

  /** Sets the message that arrives as far as it has come; its next chunk follows. */
  running({ messageId, thought, text }: NonNullable<Snapshot['running']>): void {
    const message = this.#message(messageId);
    message.soFar('agent_thought_chunk', thought ?? '');
    message.soFar('agent_message_chunk', text);
  }

  /** Adds stored messages, oldest first. Those of other turns are ignored. */
  stored(messages: ListedMessage[]): void {
    let plan: Plan | null = null;
    for (const { id, turnId, role, blocks } of messages) {
      if (turnId !== this.turnId) continue;
      if (role === 'assistant') this.#message(id).stored(blocks);
      for (const block of blocks) {
        const news = this.#calls.addStored(block, id);
        if (news) this.#deliver(news);
        if (block.type === 'tool_result' && block.call?.plan) plan = { sessionUpdate: 'plan', entries: block.call.plan };
      }
    }
    if (plan) this.#planned(plan);
  }

  /** Whether the messages, oldest first, are continued by what was delivered, or contain the begin of the turn. */
  joins(messages: ListedMessage[]): boolean {
    const first = messages.findIndex(({ turnId }) => turnId === this.turnId);
    if (first !== 0) return first > 0;
    const { id, role } = messages[0]!;
    return role === 'user' || this.#messages.has(id);
  }

  /** The text of all messages, separated by blank lines. Throws `LimitExceeded` if it is too long. */
  text(): string {
    if (this.#textLength > MAX_TEXT) throw new LimitExceeded(`the reply exceeds ${MAX_TEXT} characters`);
    return this.#text.join('');
  }

  /** The calls in their present state. Throws `LimitExceeded` if they are too large. */
  calls(): ToolCall[] {
    return this.#calls.all();
  }

  #message(id: string): MessageText {
    let message = this.#messages.get(id);
    if (!message) {
      message = new MessageText(id, (chunk) => this.#deliverText(chunk));
      this.#messages.set(id, message);
      if (this.#messages.size > MAX_MESSAGES) this.#messages.delete(this.#messages.keys().next().value!);
    }
    return message;
  }

  #deliverText(chunk: MessageChunk): void {
    if (chunk.sessionUpdate === 'agent_message_chunk' && chunk.content.type === 'text') {
      if (this.#last !== null && this.#last !== chunk.messageId) this.#keep('\n\n');
      this.#last = chunk.messageId;
      this.#keep(chunk.content.text);
    }
    this.#deliver(chunk);
  }

  #keep(text: string): void {
    this.#textLength += text.length;
    if (this.#textLength <= MAX_TEXT) this.#text.push(text);
  }

  #planned(plan: Plan): void {
    const entries = JSON.stringify(plan.entries);
    if (entries === this.#plan) return;
    this.#plan = entries;
    this.#deliver(plan);
  }
}

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
export class MessageText {
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

  /** Adds the text of the stored message. */
  stored(blocks: ListedMessage['blocks']): void {
    const text = (type: 'text' | 'thinking') =>
      blocks.map((block) => (block.type === type ? ((block as { text?: string }).text ?? '') : '')).join('');
    this.soFar('agent_thought_chunk', text('thinking'));
    this.soFar('agent_message_chunk', text('text'));
  }

  #deliverText(sessionUpdate: Kind, text: string): void {
    if (text === '') return;
    this.#deliver({ sessionUpdate, content: { type: 'text', text }, messageId: this.messageId });
  }
}
