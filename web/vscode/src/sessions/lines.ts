/** Number of lines that are encoded together. */
const BATCH = 200;

/** Returns lines as bytes of a text file, and calls `added` with each. They are never one string, whose length is limited. */
export async function bytesOf(lines: AsyncIterable<string>, added: (line: string) => void): Promise<Uint8Array> {
  const encoder = new TextEncoder();
  const chunks: Uint8Array[] = [];
  let batch: string[] = [];
  const flush = (): void => {
    chunks.push(encoder.encode(batch.map((line) => `${line}\n`).join('')));
    batch = [];
  };
  for await (const line of lines) {
    batch.push(line);
    added(line);
    if (batch.length === BATCH) flush();
  }
  flush();
  const all = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

/** Returns the lines of a text file, without their line breaks. Calls `read` with the number of bytes read so far. */
export function* linesIn(bytes: Uint8Array, read: (bytes: number) => void): Generator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, from);
    const to = end < 0 ? bytes.length : end;
    yield decoder.decode(bytes.subarray(from, to));
    from = to + 1;
    read(Math.min(from, bytes.length));
  }
}

const NEWLINE = 10;

/** Returns a name for the export of a session, without characters that file systems refuse. */
export const fileNameOf = (title: string, id: string): string => `${title.replace(/[^\p{L}\p{N} _.-]/gu, '').replace(/^\.+/, '').trim().slice(0, 60) || id}.jsonl`;
