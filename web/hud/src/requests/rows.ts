import type { ComparedItem, LeftOut, RequestComparison, SentItem, SentRequest } from "@strata/client";

/** A row of the page: the folded beginning, the place where the cache ends, an item of either request, or an omitted one. */
export type Row = { key: string } & (
  | { kind: "fold"; items: number; tokens: number; open: boolean }
  | { kind: "ends"; comparison: RequestComparison }
  | { kind: "item"; compared: ComparedItem; sent: SentItem | undefined }
  | { kind: "heading"; text: string }
  | { kind: "omitted"; omitted: LeftOut }
);

/** same returns the row of an item that both requests have at the same place. */
function same(sent: SentItem, index: number): ComparedItem {
  const { key, kind, tokens, tier, n, hash, mark = false, dead = false } = sent;
  const place = { index, tokens, tier, n, hash, mark, dead };
  return { change: "same", key, kind, before: place, after: place, ...(sent.moved === undefined ? {} : { reason: sent.moved }) };
}

/** rowsOf returns the rows of a request. Without a comparison its items are listed alone. */
export function rowsOf(request: SentRequest, comparison: RequestComparison | null, open: boolean): Row[] {
  const rows: Row[] = [];
  const item = (compared: ComparedItem, sent: SentItem | undefined): void => {
    rows.push({ key: `${compared.before?.index ?? ""}:${compared.after?.index ?? ""}`, kind: "item", compared, sent });
  };
  if (comparison) {
    const { prefix } = comparison;
    if (prefix.items > 0) rows.push({ key: "fold", kind: "fold", ...prefix, open });
    if (open) request.items.slice(0, prefix.items).forEach((sent, i) => item(same(sent, i), sent));
    rows.push({ key: "ends", kind: "ends", comparison });
    for (const compared of comparison.rows) item(compared, compared.after && request.items[compared.after.index]);
  } else {
    request.items.forEach((sent, i) => {
      const { before: _, ...alone } = same(sent, i);
      item(alone, sent);
    });
  }
  rows.push({ key: "heading", kind: "heading", text: request.leftOut.length === 0 ? "Nothing omitted" : "Omitted" });
  request.leftOut.forEach((omitted, i) => rows.push({ key: `out${i}`, kind: "omitted", omitted }));
  return rows;
}
