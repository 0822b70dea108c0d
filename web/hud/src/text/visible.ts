/** Characters that have no shape of their own, or that change the direction of the text around them. */
const unseen = /[\p{Bidi_Control}\p{Zl}\p{Zp}\u200b\u2060\ufeff]/gu;

/** visible shows the characters of a text that nobody would see: `⟨U+202E⟩` and `␛`. Line feeds and tabs remain. */
export const visible = (text: string): string =>
  text
    .replace(/[\0-\x08\x0b-\x1f]/g, (c) => String.fromCodePoint(0x2400 + c.charCodeAt(0)))
    .replace(/[\x7f-\x9f]/g, code)
    .replace(unseen, code);

const code = (c: string): string => `⟨U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
