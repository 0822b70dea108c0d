import type { Assembled, Block } from "@strata/client";
import type { Row } from "../ui/virtual-list.tsx";

/** A row of the assembled request. */
export type RequestRow = Row & (
  | { kind: "entry"; index: number; role: string; tokens: number; collapsed: boolean; first: string }
  | { kind: "text"; text: string }
  | { kind: "breakpoint"; ttl: string }
);

/** Maximum lines and characters in a row of text. They bound the size of an element. */
const ROW_LINES = 40;
const ROW_CHARS = 4000;

/** textOf returns a block as text; pictures are described. */
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
      return `[picture: ${block.mimeType ?? "unknown type"}]`;
    case "tool_call":
      return `${block.name}(${block.args ?? ""})`;
    case "tool_result":
      return (block.content ?? []).map(textOf).join("\n");
  }
}

export const textOfMessage = (message: Assembled["messages"][number]): string => message.content.map(textOf).join("\n\n");

/** chunks divides a text into rows at line ends; only lines longer than a row are divided. */
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

/** requestRows returns a row for each entry, rows for its text unless collapsed, and a row for each cache breakpoint. */
export function requestRows(request: Assembled, collapsed: ReadonlySet<number>): RequestRow[] {
  const breakpoints = new Map(request.breakpoints.map((b) => [b.message, b.ttl]));
  const rows: RequestRow[] = [];
  request.messages.forEach((message, index) => {
    const text = textOfMessage(message);
    const isCollapsed = collapsed.has(index);
    rows.push({ key: `entry ${index}`, kind: "entry", index, role: message.role, tokens: message.tokens, collapsed: isCollapsed, first: firstLine(text) });
    if (!isCollapsed) chunks(text).forEach((part, i) => rows.push({ key: `text ${index} ${i}`, kind: "text", text: part }));
    const ttl = breakpoints.get(index);
    if (ttl) rows.push({ key: `breakpoint ${index}`, kind: "breakpoint", ttl });
  });
  return rows;
}

function firstLine(text: string): string {
  const line = text.slice(0, 400).split("\n").find((l) => l.trim() !== "") ?? "";
  return line.slice(0, 160);
}
