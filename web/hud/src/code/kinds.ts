/** The kinds of parts of code. Each has a color, `--code-KIND`, but plain ones. */
export const kinds = ["plain", "keyword", "string", "number", "comment", "title", "attr", "added", "removed"] as const;

export type Kind = (typeof kinds)[number];
