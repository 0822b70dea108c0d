/** positions returns where a text contains the letters of a pattern in order, ignoring case; null for no match. */
export function positions(pattern: string, text: string): number[] | null {
  const wanted = pattern.trim().toLowerCase();
  if (wanted === "") return [];
  const lower = text.toLowerCase();
  if (lower.length !== text.length) return lower.includes(wanted) ? [] : null;
  const whole = lower.indexOf(wanted);
  if (whole >= 0) return Array.from(wanted, (_, i) => whole + i);
  const found: number[] = [];
  let from = 0;
  for (const letter of wanted) {
    if (/\s/.test(letter)) continue;
    const at = lower.indexOf(letter, from);
    if (at < 0) return null;
    found.push(at);
    from = at + 1;
  }
  return found;
}

export interface Part {
  text: string;
  hit: boolean;
}

/** parts divides a text into matching and other parts. */
export function parts(text: string, hits: readonly number[]): Part[] {
  const out: Part[] = [];
  const set = new Set(hits);
  for (let i = 0; i < text.length; i++) {
    const hit = set.has(i);
    const last = out.at(-1);
    if (last?.hit === hit) last.text += text[i] ?? "";
    else out.push({ text: text[i] ?? "", hit });
  }
  return out;
}
