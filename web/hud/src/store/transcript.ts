import { signal } from "@preact/signals";
import type { Block, ListedMessage as Message, Summary } from "@strata/client";
import { call } from "./connection.ts";
import { LiveText } from "./live.ts";

/** Entry is one message as the page holds it. Entries are replaced, never changed, so that what is drawn of one can be kept. */
export interface Entry {
  /** Stays the same from the moment the message is first shown. */
  key: string;
  /** The message as the transcript has it; blocks only, for one that is not stored yet. */
  message: Message;
  /** The text while it streams. */
  live?: LiveText;
  /** A prompt of this page's that the server has not confirmed. */
  promptId?: string;
}

/** How many stored messages are held; the far end is let go and had again by scrolling there. */
export const MAX_HELD = 400;
const PAGE = 50;

/**
 * Transcript is a stretch of a session's messages without gaps: the newest, or the surroundings of one that was looked
 * for. It grows at both ends by paging and is let go where it becomes too long.
 */
export class Transcript {
  /** The stretch of stored messages. */
  readonly entries = signal<readonly Entry[]>([]);
  /** What comes behind the newest stored message: prompts and answers that are not stored, or not known to be. */
  readonly tail = signal<readonly Entry[]>([]);
  readonly summary = signal<Summary | undefined>(undefined);
  /** There are older messages than the first. */
  readonly older = signal(false);
  /** There are newer messages than the last. */
  readonly newer = signal(false);
  readonly loading = signal<"" | "older" | "newer" | "around">("");

  private refreshing: Promise<void> | null = null;
  private refreshAgain = false;

  constructor(private readonly sessionId: string) {}

  /** Begins with what a snapshot holds. Prompts that the server has not confirmed stay. */
  reset(messages: readonly Message[], summary: Summary | undefined, older: boolean): void {
    this.entries.value = messages.map(stored);
    this.tail.value = this.tail.value.filter((e) => e.promptId !== undefined && e.message.id === "");
    this.summary.value = summary;
    this.older.value = older;
    this.newer.value = false;
  }

  private pending(id: string): Entry | undefined {
    return this.tail.value.findLast((e) => e.message.id === id);
  }

  private isStored(id: string): boolean {
    return this.entries.value.some((e) => e.message.id === id);
  }

  /** Shows a prompt before the server has it. */
  prompted(promptId: string, blocks: Block[]): void {
    this.add({ key: promptId, promptId, message: unstored("", "user", blocks) });
  }

  /** Takes back a prompt that the server did not take. */
  unprompted(promptId: string): void {
    this.tail.value = this.tail.value.filter((e) => e.promptId !== promptId || e.message.id !== "");
  }

  /** A turn has begun: its prompt has an id, and its answer is on the way. */
  started(turnId: string, promptId: string | undefined, userId: string, messageId: string): void {
    const own = promptId === undefined ? undefined : this.tail.value.findLast((e) => e.promptId === promptId);
    if (own && this.isStored(userId)) this.tail.value = this.tail.value.filter((e) => e !== own);
    else if (own) this.replace(own, { ...own, message: { ...own.message, id: userId, turnId } });
    this.live(messageId, turnId);
  }

  /** The streaming text of an answer, made where there is none; undefined for an answer that is stored. */
  live(messageId: string, turnId = ""): LiveText | undefined {
    const known = this.pending(messageId);
    if (known) return known.live;
    if (this.isStored(messageId)) return undefined;
    const live = new LiveText();
    this.add({ key: messageId, live, message: { ...unstored(messageId, "assistant", []), turnId } });
    return live;
  }

  /** A block of a user's message that another client sent. */
  userBlock(messageId: string, block: Block): void {
    const known = this.pending(messageId);
    if (!known) {
      if (!this.isStored(messageId)) this.add({ key: messageId, message: unstored(messageId, "user", [block]) });
    } else if (known.promptId === undefined) {
      this.replace(known, { ...known, message: { ...known.message, blocks: [...known.message.blocks, block] } });
    }
  }

  private add(entry: Entry): void {
    this.tail.value = [...this.tail.value, entry];
  }

  private replace(old: Entry, entry: Entry): void {
    this.tail.value = this.tail.value.map((e) => (e === old ? entry : e));
  }

  /** Drops an answer of which nothing came. */
  drop(messageId: string): void {
    this.tail.value = this.tail.value.filter((e) => e.message.id !== messageId);
  }

  /**
   * Asks for everything held anew, newest page first: messages that were stored meanwhile, and what the view does to
   * the others. One such request is under way at a time.
   */
  refresh(): Promise<void> {
    if (this.refreshing) {
      this.refreshAgain = true;
      return this.refreshing;
    }
    this.refreshing = this.refreshAll().finally(() => {
      this.refreshing = null;
    });
    return this.refreshing;
  }

  private async refreshAll(): Promise<void> {
    do {
      this.refreshAgain = false;
      const first = this.entries.value[0]?.message.seq ?? 0;
      const last = this.entries.value.at(-1)?.message.seq ?? 0;
      let cursor = this.newer.value ? String(last + 1) : undefined;
      let messages: Message[] = [];
      do {
        const page = await this.page(cursor, MAX_HELD);
        messages = [...page.messages, ...messages];
        this.summary.value = page.summary;
        cursor = page.nextCursor;
      } while (cursor !== undefined && first > 0 && (messages[0]?.seq ?? 0) > first && messages.length < 2 * MAX_HELD);
      this.merge(messages, cursor !== undefined);
    } while (this.refreshAgain);
  }

  private page(cursor: string | undefined, limit = PAGE) {
    return call("_strata/history/list", { sessionId: this.sessionId, limit, ...(cursor ? { cursor } : {}) });
  }

  /** Puts stored messages in the place of what is held of them. */
  private merge(messages: readonly Message[], older: boolean): void {
    const known = new Map([...this.entries.value, ...this.tail.value].map((e) => [e.message.id, e]));
    const ids = new Set(messages.map((m) => m.id));
    const first = messages[0]?.seq ?? 0;
    const before = this.entries.value.filter((e) => e.message.seq < first);
    this.tail.value = this.tail.value.filter((e) => !ids.has(e.message.id));
    this.entries.value = [...before, ...messages.map((m) => renewed(known.get(m.id), m))];
    if (before.length === 0) this.older.value = older;
    this.trim("older");
  }

  /** Loads the page before the first message. */
  async loadOlder(): Promise<void> {
    const first = this.entries.value[0];
    if (!first || !this.older.value || this.loading.value !== "") return;
    await this.during("older", async () => {
      const page = await this.page(String(first.message.seq));
      if (this.entries.value[0] !== first) return;
      this.entries.value = [...page.messages.map(stored), ...this.entries.value];
      this.older.value = page.nextCursor !== undefined;
      this.trim("newer");
    });
  }

  /** Loads messages behind the last one. Sequence numbers are shared with edits, so a stretch may hold fewer of them. */
  async loadNewer(): Promise<void> {
    if (!this.newer.value || this.loading.value !== "") return;
    await this.during("newer", async () => {
      const last = this.entries.value.at(-1)?.message.seq ?? 0;
      const newest = await this.page(undefined, 1);
      const end = newest.messages.at(-1)?.seq ?? last;
      const found = await this.stretch(last, Math.min(last + PAGE, end) + 1);
      this.entries.value = [...this.entries.value, ...found.map(stored)];
      this.newer.value = last + PAGE < end;
      this.trim("older");
    });
    if (!this.newer.value) await this.refresh();
  }

  /** The messages with numbers above from and below to. */
  private async stretch(from: number, to: number): Promise<Message[]> {
    let found: Message[] = [];
    let cursor: string | undefined = String(to);
    while (cursor !== undefined) {
      const page: { messages: Message[]; nextCursor?: string } = await this.page(cursor);
      found = [...page.messages.filter((m) => m.seq > from), ...found];
      cursor = (page.messages[0]?.seq ?? 0) > from ? page.nextCursor : undefined;
    }
    return found;
  }

  /** Makes the stretch one that holds the message with a sequence number. */
  async show(seq: number): Promise<void> {
    if (this.entries.value.some((e) => e.message.seq === seq)) return;
    await this.during("around", async () => {
      const page = await this.page(String(seq + 1));
      this.entries.value = page.messages.map(stored);
      this.summary.value = page.summary;
      this.older.value = page.nextCursor !== undefined;
      this.newer.value = true;
    });
    await this.loadNewer();
  }

  /** Goes back to the newest messages. */
  async showNewest(): Promise<void> {
    await this.during("around", async () => {
      const page = await this.page(undefined);
      this.newer.value = false;
      this.entries.value = page.messages.map(stored);
      this.summary.value = page.summary;
      this.older.value = page.nextCursor !== undefined;
    });
  }

  private async during(what: "older" | "newer" | "around", work: () => Promise<void>): Promise<void> {
    this.loading.value = what;
    try {
      await work();
    } finally {
      this.loading.value = "";
    }
  }

  /** Lets go of the far end of what is held. */
  private trim(end: "older" | "newer"): void {
    const held = this.entries.value;
    if (held.length <= MAX_HELD) return;
    this.entries.value = end === "older" ? held.slice(-MAX_HELD) : held.slice(0, MAX_HELD);
    if (end === "older") this.older.value = true;
    else this.newer.value = true;
  }
}

/** The entry of a message: the known one where nothing has changed, since a stored message changes only in the view. */
function renewed(known: Entry | undefined, message: Message): Entry {
  if (!known) return stored(message);
  const { seq, status, inView, view } = known.message;
  const same = !known.live && seq === message.seq && status === message.status && inView === message.inView;
  return same && JSON.stringify(view) === JSON.stringify(message.view) ? known : { key: known.key, message };
}

const stored = (message: Message): Entry => ({ key: message.id, message });

function unstored(id: string, role: Message["role"], blocks: Block[]): Message {
  return { id, seq: 0, role, blocks, tokens: 0, at: new Date().toISOString(), status: "complete", inView: true };
}
