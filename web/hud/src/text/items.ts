import type { MessageLabel } from "../store/labels.ts";

/** The name of an item of a request: what it is and, if they are known, the words that it starts with, or its path. */
export interface ItemName {
  what: string;
  words: string;
  /** The words are a path or a name. */
  path: boolean;
}

const single: Record<string, string> = { system: "System prompt", tools: "Tools", "outline-heading": "Heading of the outlines", "summary:omitted": "List of omitted items" };

const named: Record<string, string> = { "file:": "", "outline:": "Outline", "doc:": "Document" };

/** messageOf returns the id of the message that an item is or belongs to, "" for none. */
export const messageOf = (key: string): string => /^(?:msg|note):(.*)$/s.exec(key)?.[1] ?? "";

/** nameOf returns the name of the item with a key. */
export function nameOf(key: string, labels: ReadonlyMap<string, MessageLabel>): ItemName {
  const is = (what: string, words = "", path = false): ItemName => ({ what, words, path });
  const alone = single[key];
  if (alone !== undefined) return is(alone);
  for (const [prefix, what] of Object.entries(named)) if (key.startsWith(prefix)) return is(what, key.slice(prefix.length), true);
  const label = labels.get(messageOf(key));
  if (key.startsWith("msg:")) return label ? is(label.who, label.words) : is("Message");
  if (key.startsWith("note:")) return is("Note on files", label ? `before ${label.who}: ${label.words}` : "");
  if (key.startsWith("summary:")) return is("Summary of earlier messages");
  return is("", key, true);
}

/** wordsOf returns a name in one text. */
export const wordsOf = ({ what, words }: ItemName): string => (what !== "" && words !== "" ? `${what}: ${words}` : what + words);
