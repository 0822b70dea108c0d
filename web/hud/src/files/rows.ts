import type { Breakdown, DocumentInfo, FileInfo, TierItem } from "@strata/client";
import { plural } from "../text/format.ts";
import { positions } from "../text/fuzzy.ts";
import type { Row } from "../ui/virtual-list.tsx";

/** A row of the panel. */
export type FilesRow = Row & (
  | { kind: "head"; title: string; many: string; tokens: number }
  | { kind: "file"; file: FileInfo; unused: number }
  | { kind: "removed"; path: string; tokens: number }
  | { kind: "document"; document: DocumentInfo; unused: number }
  | { kind: "none"; text: string }
);

export type Order = "name" | "size";

interface Shown {
  files: readonly FileInfo[];
  documents: readonly DocumentInfo[];
  breakdown: Breakdown | undefined;
  filter: string;
  order: Order;
}

/** filesRows returns the rows for files, for removed files still in the request, and for documents. */
export function filesRows({ files, documents, breakdown, filter, order }: Shown): FilesRow[] {
  const items = new Map((breakdown?.tiers ?? []).flatMap((t) => t.items).map((i) => [i.key, i]));
  const unused = (key: string): number => unusedTokens(items.get(key));
  const shownFiles = sorted(files.filter((f) => positions(filter, f.path) !== null), order, (f) => f.path);
  const shownDocuments = sorted(documents.filter((d) => positions(filter, d.name) !== null), order, (d) => d.name);
  const inside = new Set(files.map((f) => `file:${f.path}`));
  const removed = [...items.values()].filter((i) => i.key.startsWith("file:") && !inside.has(i.key) && unusedTokens(i) > 0 && positions(filter, i.key) !== null);
  const none = (text: string): FilesRow => ({ key: `none ${text}`, kind: "none", text });
  const rows: FilesRow[] = [head("Files", "file", shownFiles)];
  if (shownFiles.length === 0) rows.push(none(files.length === 0 ? "No files. Add one above, or attach one to a prompt." : "No matching files"));
  rows.push(...shownFiles.map((file): FilesRow => ({ key: `file ${file.path}`, kind: "file", file, unused: unused(`file:${file.path}`) })));
  if (removed.length > 0) {
    rows.push(head("Removed; sent until the next rebuild", "file", removed));
    rows.push(...removed.map((i): FilesRow => ({ key: `removed ${i.key}`, kind: "removed", path: i.key.slice("file:".length), tokens: unusedTokens(i) })));
  }
  rows.push(head("Documents", "document", shownDocuments));
  if (shownDocuments.length === 0) rows.push(none(documents.length === 0 ? "No documents. Add one above." : "No matching documents"));
  rows.push(...shownDocuments.map((document): FilesRow => ({ key: `doc ${document.name}`, kind: "document", document, unused: unused(`doc:${document.name}`) })));
  return rows;
}

function head(title: string, one: string, all: readonly { tokens: number }[]): FilesRow {
  return { key: `head ${title}`, kind: "head", title, many: all.length > 0 ? plural(all.length, one) : "", tokens: all.reduce((sum, a) => sum + a.tokens, 0) };
}

function sorted<T extends { tokens: number }>(all: T[], order: Order, name: (one: T) => string): T[] {
  return order === "size" ? all.sort((a, b) => b.tokens - a.tokens || name(a).localeCompare(name(b))) : all;
}

/** Tokens of an item that are sent but not needed. The next rebuild removes them. */
const unusedTokens = (item: TierItem | undefined): number => (item?.leaves ? item.tokens : item?.dead ?? 0);

/** linesWords returns lines in words: "line 3", "lines 3 to 8". */
export const linesWords = ({ start, end }: { start: number; end: number }): string => (end > start ? `lines ${start} to ${end}` : `line ${start}`);

/** stateOf returns how much of a file the model receives, in words. */
export function stateOf(file: FileInfo): string {
  switch (file.state) {
    case "full":
      return "whole";
    case "partial":
      return file.range ? linesWords(file.range) : "partial";
    case "summary_only":
      return "outline only";
    case "not_available":
      return "not available";
  }
}

/** isOutline reports whether a file was added as an outline, and is not shown as one only because the window is full. */
export const isOutline = (file: FileInfo): boolean => file.state === "summary_only" && file.reason !== "over_budget";
