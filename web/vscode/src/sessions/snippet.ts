import type { SearchHit } from '@strata/client';

/** Maximum characters before the first match: the line of a result shows no more than about 100. */
const LEAD = 40;

/** Maximum characters of a snippet. */
const MAX = 300;

/** Returns a snippet in one line that begins shortly before its first match. */
export function snippetOf({ snippet, marks }: Pick<SearchHit, 'snippet' | 'marks'>): string {
  const bytes = new TextEncoder().encode(snippet);
  const lead = new TextDecoder().decode(bytes.subarray(0, marks[0]?.[0] ?? 0)); // marks count bytes
  const from = lead.length <= LEAD ? 0 : lead.length - LEAD;
  const start = from === 0 ? 0 : Math.max(from, lead.indexOf(' ', from) + 1);
  const text = snippet.slice(start, start + MAX).replace(/\s+/g, ' ').trim();
  return `${start > 0 ? '…' : ''}${text.replace(/\p{Cs}/gu, '')}`;
}
