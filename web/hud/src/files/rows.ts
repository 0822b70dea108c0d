import type { Breakdown, DocumentInfo, FileInfo, TierItem } from "@strata/client";
import { plural } from "../text/format.ts";
import { positions } from "../text/fuzzy.ts";
import type { Row } from "../ui/window.tsx";

/** A line of the panel as the window draws it. */
export type FilesRow = Row & (
  | { kind: "head"; title: string; many: string; tokens: number }
  | { kind: "file"; file: FileInfo; leaves: number }
  | { kind: "gone"; path: string; tokens: number }
  | { kind: "document"; document: DocumentInfo; leaves: number }
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

/** The files and documents of a session, and the files that went out but stay in the request until the next cut. */
export function filesRows({ files, documents, breakdown, filter, order }: Shown): FilesRow[] {
  const items = new Map((breakdown?.tiers ?? []).flatMap((t) => t.items).map((i) => [i.key, i]));
  const leaves = (key: string): number => leaving(items.get(key));
  const shownFiles = sorted(files.filter((f) => positions(filter, f.path) !== null), order, (f) => f.path);
  const shownDocuments = sorted(documents.filter((d) => positions(filter, d.name) !== null), order, (d) => d.name);
  const inside = new Set(files.map((f) => `file:${f.path}`));
  const gone = [...items.values()].filter((i) => i.key.startsWith("file:") && !inside.has(i.key) && leaving(i) > 0 && positions(filter, i.key) !== null);
  const none = (text: string): FilesRow => ({ key: `none ${text}`, kind: "none", text });
  const rows: FilesRow[] = [head("Files", "file", shownFiles)];
  if (shownFiles.length === 0) rows.push(none(files.length === 0 ? "None. Add one above, or attach one to a prompt." : "No file matches the filter."));
  rows.push(...shownFiles.map((file): FilesRow => ({ key: `file ${file.path}`, kind: "file", file, leaves: leaves(`file:${file.path}`) })));
  if (gone.length > 0) {
    rows.push(head("Out, but in the request until the next cut", "file", gone));
    rows.push(...gone.map((i): FilesRow => ({ key: `gone ${i.key}`, kind: "gone", path: i.key.slice("file:".length), tokens: leaving(i) })));
  }
  rows.push(head("Documents", "document", shownDocuments));
  if (shownDocuments.length === 0) rows.push(none(documents.length === 0 ? "None. Rules, a design or facts can be set above; an editor may set them as well." : "No document matches the filter."));
  rows.push(...shownDocuments.map((document): FilesRow => ({ key: `doc ${document.name}`, kind: "document", document, leaves: leaves(`doc:${document.name}`) })));
  return rows;
}

function head(title: string, one: string, all: readonly { tokens: number }[]): FilesRow {
  return { key: `head ${title}`, kind: "head", title, many: all.length > 0 ? plural(all.length, one) : "", tokens: all.reduce((sum, a) => sum + a.tokens, 0) };
}

function sorted<T extends { tokens: number }>(all: T[], order: Order, name: (one: T) => string): T[] {
  return order === "size" ? all.sort((a, b) => b.tokens - a.tokens || name(a).localeCompare(name(b))) : all;
}

/** The tokens of an item that leave at the next cut. */
const leaving = (item: TierItem | undefined): number => (item?.leaves ? item.tokens : item?.dead ?? 0);

/** How much of a file the model is shown, in words. */
export function stateOf(file: FileInfo): string {
  switch (file.state) {
    case "full":
      return "whole";
    case "partial":
      return file.range ? `lines ${file.range.start} to ${file.range.end}` : "in part";
    case "summary_only":
      return "listed only";
    case "not_available":
      return "not available";
  }
}
