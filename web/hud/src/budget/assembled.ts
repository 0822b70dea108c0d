import type { Assembled, Block } from "@strata/client";
import type { Row } from "../ui/window.tsx";

/** A line of the assembled request as the window draws it. */
export type RequestRow = Row & (
  | { kind: "entry"; index: number; role: string; tokens: number; folded: boolean; first: string }
  | { kind: "text"; text: string }
  | { kind: "mark"; ttl: string }
);

/** A row of text has at most so many lines and characters: no element becomes large. */
const ROW_LINES = 40;
const ROW_CHARS = 4000;

/** A block as the text that a reader sees; what is no text is named. */
export function textOf(block: Block): string {
  switch (block.type) {
    case "text":
    case "thinking":
      return block.text ?? "";
    case "resource":
      return `${block.uri}\n${block.text ?? ""}`;
    case "resource_link":
      return block.uri;
    case "image":
      return `[a picture, ${block.mimeType ?? "of unknown kind"}]`;
    case "tool_call":
      return `${block.name}(${block.args ?? ""})`;
    case "tool_result":
      return (block.content ?? []).map(textOf).join("\n");
  }
}

export const textOfMessage = (message: Assembled["messages"][number]): string => message.content.map(textOf).join("\n\n");

/** Text in pieces that end with a line, where lines are no longer than a piece. */
export function chunks(text: string): string[] {
  const out: string[] = [];
  let from = 0;
  let lines = 0;
  for (let at = 0; at < text.length; at++) {
    const ends = text[at] === "\n";
    if (ends) lines++;
    if (lines < ROW_LINES && at - from + 1 < ROW_CHARS) continue;
    out.push(ends ? text.slice(from, at) : text.slice(from, at + 1));
    from = at + 1;
    lines = 0;
  }
  if (from < text.length || out.length === 0) out.push(text.slice(from));
  return out;
}

/** The rows of a request: its tools, its entries with their text unless folded, and a line for each cache mark. */
export function requestRows(request: Assembled, folded: ReadonlySet<number>): RequestRow[] {
  const marks = new Map(request.breakpoints.map((b) => [b.message, b.ttl]));
  const rows: RequestRow[] = [];
  request.messages.forEach((message, index) => {
    const text = textOfMessage(message);
    const shut = folded.has(index);
    rows.push({ key: `entry ${index}`, kind: "entry", index, role: message.role, tokens: message.tokens, folded: shut, first: firstLine(text) });
    if (!shut) chunks(text).forEach((part, i) => rows.push({ key: `text ${index} ${i}`, kind: "text", text: part }));
    const ttl = marks.get(index);
    if (ttl) rows.push({ key: `mark ${index}`, kind: "mark", ttl });
  });
  return rows;
}

function firstLine(text: string): string {
  const line = text.slice(0, 400).split("\n").find((l) => l.trim() !== "") ?? "";
  return line.slice(0, 160);
}
