import { computed, signal } from "@preact/signals";
import type { Block, ListedMessage as Message, Methods, Summary } from "@strata/client";
import { LiveText } from "./live-text.ts";
import { joinResults, newestPlan } from "./tool-calls.ts";

/** Entry is one message on the page. Entries are immutable, so their rows can be cached. */
export interface Entry {
  /** Never changes after the message is first shown. */
  key: string;
  /** The stored message; for a message not stored yet, mainly its blocks. */
  message: Message;
  /** The streaming text. */
  live?: LiveText;
  /** Set for a prompt that this page sent. */
  promptId?: string;
}

type List = Methods["_strata/history/list"];

/** Maximum number of loaded messages. The far end is dropped and loaded again by scrolling. */
export const MAX_LOADED = 400;
const PAGE = 50;

/**
 * Transcript is a gapless range of a session's messages: the newest, or those around a search result. Paging extends it at
 * both ends; messages beyond MAX_LOADED are dropped.
 */
export class Transcript {
  /** The loaded stored messages. */
  readonly entries = signal<readonly Entry[]>([]);
  /** Prompts and replies after the newest stored message that are not known to be stored. */
  readonly tail = signal<readonly Entry[]>([]);
  readonly summary = signal<Summary | undefined>(undefined);
  /** There are older messages than the first loaded one. */
  readonly older = signal(false);
  /** There are newer messages than the last loaded one. */
  readonly newer = signal(false);
  readonly loading = signal<"" | "older" | "newer" | "around">("");
  /** The loaded results of calls. */
  readonly results = computed(() => joinResults(this.entries.value));
  readonly plan = computed(() => newestPlan(this.entries.value));

  /** The reply that streams, undefined for none. */
  readonly streaming = computed(() => this.tail.value.findLast((e) => e.live)?.live);

  private refreshing: Promise<void> | null = null;
  private refreshAgain = false;
  /** Number of times that another range was loaded in place of the messages. */
  private ranges = 0;

  constructor(private readonly list: (params: Omit<List["params"], "sessionId">) => Promise<List["result"]>) {}

  /** reset replaces the messages with those of a snapshot. Unconfirmed prompts remain. */
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

  /** prompted adds a prompt before the server confirms it. */
  prompted(promptId: string, blocks: Block[]): void {
    this.add({ key: promptId, promptId, message: unstored("", "user", blocks) });
  }

  /** unprompted removes a prompt that the server did not accept. */
  unprompted(promptId: string): void {
    this.tail.value = this.tail.value.filter((e) => e.promptId !== promptId || e.message.id !== "");
  }

  /** started handles the start of a turn: its prompt gets an id, and its reply an entry. */
  started(turnId: string, promptId: string | undefined, userId: string, messageId: string): void {
    const own = promptId === undefined ? undefined : this.tail.value.findLast((e) => e.promptId === promptId);
    this.entries.value = this.entries.value.map((e) => (e.message.id === userId && e.message.ended ? again(e) : e));
    if (own && this.isStored(userId)) this.tail.value = this.tail.value.filter((e) => e !== own);
    else if (own) this.replace(own, { ...own, message: { ...own.message, id: userId, turnId } });
    this.live(messageId, turnId);
  }

  /** live returns the streaming text of a reply, creating it if needed; undefined for a stored reply. */
  live(messageId: string, turnId = ""): LiveText | undefined {
    const known = this.pending(messageId);
    if (known) return known.live;
    if (this.isStored(messageId)) return undefined;
    const live = new LiveText();
    this.add({ key: messageId, live, message: { ...unstored(messageId, "assistant", []), turnId } });
    return live;
  }

  /** userBlock adds a block of a user message sent by another client. */
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

  /** drop removes a reply without content. */
  drop(messageId: string): void {
    this.tail.value = this.tail.value.filter((e) => e.message.id !== messageId);
  }

  /** ended removes the replies of a turn that were not stored, such as one of a step that ended before its first text. */
  ended(turnId: string): void {
    this.tail.value = this.tail.value.filter((e) => !e.live || e.message.turnId !== turnId);
  }

  /**
   * refresh reloads all loaded messages, newest page first, to get new messages and changes of the view. At most one
   * refresh runs; calls during a refresh cause one further refresh.
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
      const { ranges } = this;
      const first = this.entries.value[0]?.message.seq ?? 0;
      const last = this.entries.value.at(-1)?.message.seq ?? 0;
      let cursor = this.newer.value ? String(last + 1) : undefined;
      let messages: Message[] = [];
      do {
        const page = await this.page(cursor, MAX_LOADED);
        messages = [...page.messages, ...messages];
        this.summary.value = page.summary;
        cursor = page.nextCursor;
      } while (cursor !== undefined && first > 0 && (messages[0]?.seq ?? 0) > first && messages.length < 2 * MAX_LOADED);
      if (ranges !== this.ranges) this.refreshAgain = true; // these messages are of the range before
      else this.merge(messages, cursor !== undefined);
    } while (this.refreshAgain);
  }

  private page(cursor: string | undefined, limit = PAGE) {
    return this.list({ limit, ...(cursor ? { cursor } : {}) });
  }

  /** merge replaces loaded messages with their stored versions. */
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

  /** loadOlder loads the page before the first message. */
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

  /** loadNewer loads messages after the last one. Meanwhile a refresh can add some, or another range can be loaded. */
  async loadNewer(): Promise<void> {
    if (!this.newer.value || this.loading.value !== "") return;
    const { ranges } = this;
    await this.during("newer", async () => {
      const last = this.lastSeq;
      const newest = await this.page(undefined, 1);
      const end = newest.messages.at(-1)?.seq ?? last;
      const found = await this.pageAfter(last, end);
      if (ranges !== this.ranges) return;
      const { lastSeq } = this;
      this.entries.value = [...this.entries.value, ...found.filter((m) => m.seq > lastSeq).map(stored)];
      this.newer.value = this.lastSeq < end;
      this.trim("older");
    });
    if (!this.newer.value) await this.refresh();
  }

  private get lastSeq(): number {
    return this.entries.value.at(-1)?.message.seq ?? 0;
  }

  /** pageAfter returns messages with sequence numbers above from, up to end. Edits share the numbers, so some have no message. */
  private async pageAfter(from: number, end: number): Promise<Message[]> {
    for (let to = from; to < end; ) {
      to = Math.min(to + PAGE, end);
      const found = await this.range(from, to + 1);
      if (found.length > 0) return found;
    }
    return [];
  }

  /** range returns the messages with sequence numbers above from and below to. */
  private async range(from: number, to: number): Promise<Message[]> {
    let found: Message[] = [];
    let cursor: string | undefined = String(to);
    while (cursor !== undefined) {
      const page: { messages: Message[]; nextCursor?: string } = await this.page(cursor);
      found = [...page.messages.filter((m) => m.seq > from), ...found];
      cursor = (page.messages[0]?.seq ?? 0) > from ? page.nextCursor : undefined;
    }
    return found;
  }

  /** show loads the messages around a sequence number. */
  async show(seq: number): Promise<void> {
    if (this.entries.value.some((e) => e.message.seq === seq)) return;
    await this.during("around", async () => {
      const page = await this.page(String(seq + 1));
      this.ranges++;
      this.entries.value = page.messages.map(stored);
      this.summary.value = page.summary;
      this.older.value = page.nextCursor !== undefined;
      this.newer.value = true;
    });
    await this.loadNewer();
  }

  /** showNewest loads the newest messages. */
  async showNewest(): Promise<void> {
    await this.during("around", async () => {
      const page = await this.page(undefined);
      this.ranges++;
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

  /** trim drops messages at one end beyond MAX_LOADED. */
  private trim(end: "older" | "newer"): void {
    const loaded = this.entries.value;
    if (loaded.length <= MAX_LOADED) return;
    this.entries.value = end === "older" ? loaded.slice(-MAX_LOADED) : loaded.slice(0, MAX_LOADED);
    if (end === "older") this.older.value = true;
    else this.newer.value = true;
  }
}

/** renewed returns the known entry if the message is unchanged, otherwise a new one. */
function renewed(known: Entry | undefined, message: Message): Entry {
  if (!known) return stored(message);
  const { seq, status, inView, view, ended } = known.message;
  const same = !known.live && seq === message.seq && status === message.status && inView === message.inView;
  return same && JSON.stringify([view, ended]) === JSON.stringify([message.view, message.ended]) ? known : { key: known.key, message };
}

/** again returns a stored prompt whose turn runs again. */
function again({ key, message: { ended: _, ...message } }: Entry): Entry {
  return { key, message };
}

const stored = (message: Message): Entry => ({ key: message.id, message });

function unstored(id: string, role: Message["role"], blocks: Block[]): Message {
  return { id, seq: 0, role, blocks, tokens: 0, at: new Date().toISOString(), status: "complete", inView: true };
}
