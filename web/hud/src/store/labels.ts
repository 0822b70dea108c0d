import { signal } from "@preact/signals";
import type { Message, Methods } from "@strata/client";
import { plain } from "../text/plain.ts";

/** The author and the first words of a message. */
export interface MessageLabel {
  who: string;
  words: string;
}

/** Characters of the first words, and the maximum number of labels. */
const MAX_WORDS = 80;
const MAX_LABELS = 4000;

/** Messages in a page, and the maximum number of pages that are loaded for labels. */
const PAGE = 100;
const MAX_PAGES = 20;

type Load = (params: { limit: number; cursor?: string }) => Promise<Methods["_strata/history/list"]["result"]>;

/** Labels holds the labels of a session's messages, also of those that are no longer loaded. */
export class Labels {
  readonly of = signal<ReadonlyMap<string, MessageLabel>>(new Map());

  private readonly wanted = new Set<string>();
  private cursor: string | undefined;
  private pages = 0;
  private loading = false;

  constructor(private readonly load: Load) {}

  /** take adds the labels of messages. The content of a message never changes. */
  take(messages: readonly Message[]): void {
    const known = this.of.peek();
    const fresh = messages.filter((m) => m.id !== "" && !known.has(m.id));
    if (fresh.length === 0) return;
    const all = [...known, ...fresh.map((m) => [m.id, labelOf(m)] as const)];
    this.of.value = new Map(all.slice(-MAX_LABELS));
  }

  /** want loads messages, newest first, until this one and those wanted before have labels. */
  async want(id: string): Promise<void> {
    this.wanted.add(id);
    if (this.loading) return;
    this.loading = true;
    try {
      while (this.pages < MAX_PAGES && [...this.wanted].some((id) => !this.of.peek().has(id))) {
        const page = await this.load({ limit: PAGE, ...(this.cursor === undefined ? {} : { cursor: this.cursor }) });
        this.take(page.messages);
        this.cursor = page.nextCursor;
        this.pages = this.cursor === undefined ? MAX_PAGES : this.pages + 1;
      }
    } catch {
      // The connection is lost. The next row without a label tries again.
    } finally {
      if (this.pages === MAX_PAGES) this.wanted.clear();
      this.loading = false;
    }
  }
}

const roles: Record<Message["role"], string> = { user: "You", assistant: "Reply", tool: "Result" };

function labelOf(message: Message): MessageLabel {
  return { who: roles[message.role] ?? message.role, words: firstWords(message) };
}

/** firstWords returns the first words of a message, or of what it holds instead. */
function firstWords({ blocks }: Message): string {
  for (const b of blocks) {
    if (b.type === "text" && b.text?.trim()) return oneLine(plain(b.text.slice(0, 8 * MAX_WORDS)));
    if (b.type === "tool_call") return `calls ${oneLine(b.name)}`;
    if (b.type === "tool_result") {
      const text = b.content?.find((part) => part.type === "text" && part.text?.trim());
      if (text?.type === "text") return oneLine(text.text ?? "");
    }
    if (b.type === "resource_link") return oneLine(b.name ?? b.uri);
    if (b.type === "image") return "a picture";
  }
  return "";
}

const oneLine = (text: string): string => text.slice(0, 8 * MAX_WORDS).replace(/\p{Bidi_Control}/gu, "").replace(/[\p{Cc}\s]+/gu, " ").trim().slice(0, MAX_WORDS);
