import type { FileInfo, Outline, OutlineSymbol } from "@strata/client";
import { plural } from "../text/format.ts";
import type { Row } from "../ui/virtual-list.tsx";

/** A row of an outline. */
export type OutlineRow = Row & (
  | { kind: "head"; title: string; many: number }
  | { kind: "import"; path: string; line: number }
  | { kind: "symbol"; symbol: OutlineSymbol }
  | { kind: "none"; text: string }
);

/** outlineRows returns the rows for the imports and the symbols of a file. */
export function outlineRows(outline: Outline): OutlineRow[] {
  const { imports, symbols, language } = outline;
  const rows: OutlineRow[] = [];
  if (imports.length > 0) rows.push({ key: "head imports", kind: "head", title: "Imports", many: imports.length });
  imports.forEach(({ path, line }, i) => rows.push({ key: `import ${i}`, kind: "import", path, line }));
  if (symbols.length > 0) rows.push({ key: "head symbols", kind: "head", title: "Definitions", many: symbols.length });
  symbols.forEach((symbol, i) => rows.push({ key: `symbol ${i}`, kind: "symbol", symbol }));
  if (rows.length === 0) rows.push({ key: "none", kind: "none", text: language === "" ? "No outlines for files of this kind" : "No definitions in this file" });
  return rows;
}

/** keyOfLine returns the key of the row of the symbol that starts at a line, "" for none. */
export function keyOfLine(outline: Outline, line: number): string {
  const at = line > 0 ? outline.symbols.findIndex((s) => s.line === line) : -1;
  return at < 0 ? "" : `symbol ${at}`;
}

/** A row of the list of files that the model knows. */
export type KnownRow = Row & (
  | { kind: "head"; title: string; many: string; tokens: number }
  | { kind: "file"; file: FileInfo; stated: boolean }
  | { kind: "none"; text: string }
);

/** knownRows returns the rows for the files of a session, for those that the model read, and for those that only have an outline in its requests. */
export function knownRows(known: readonly FileInfo[], files: readonly FileInfo[]): KnownRow[] {
  const added = new Set(files.map((f) => f.path));
  const parts: [string, readonly FileInfo[], boolean][] = [
    ["Added files", known.filter((f) => added.has(f.path)), true],
    ["Read by the model", known.filter((f) => !added.has(f.path) && f.read), true],
    ["Outlines selected by Strata", known.filter((f) => !added.has(f.path) && !f.read), false],
  ];
  const rows = parts.filter(([, inside]) => inside.length > 0).flatMap(([title, inside, stated]): KnownRow[] => [
    { key: `head ${title}`, kind: "head", title, many: plural(inside.length, "file"), tokens: inside.reduce((sum, f) => sum + f.tokens, 0) },
    ...inside.map((file): KnownRow => ({ key: `file ${file.path}`, kind: "file", file, stated })),
  ]);
  return rows.length > 0 ? rows : [{ key: "none", kind: "none", text: "No files in the last request. Search for a symbol or a file above." }];
}
