import assert from 'node:assert/strict';
import { test } from 'node:test';
import { baseName, dollars, escaped, folderName, percent, tokens } from '../src/format.js';
import { Refresh } from '../src/refresh.js';
import { bytesOf, fileNameOf, linesIn } from '../src/sessions/lines.js';
import { snippetOf } from '../src/sessions/snippet.js';
import { ownFolders } from '../src/sessions/tree.js';

async function* each(lines: string[]): AsyncGenerator<string> {
  yield* lines;
}

test('a file has the lines of an export again', async () => {
  const lines = Array.from({ length: 1001 }, (_, i) => `{"n":${i},"text":"é${'x'.repeat(i % 7)}"}`);
  let added = 0;
  const bytes = await bytesOf(each(lines), () => added++);
  assert.equal(added, lines.length);
  const positions: number[] = [];
  assert.deepEqual([...linesIn(bytes, (read) => positions.push(read))], lines);
  assert.equal(positions.at(-1), bytes.length);
  assert.deepEqual([...linesIn(new TextEncoder().encode('a\n\nb'), () => {})], ['a', '', 'b']);
  assert.throws(() => [...linesIn(new Uint8Array([0xff, 10]), () => {})], TypeError);
});

test('names of exports have no characters that file systems refuse', () => {
  assert.equal(fileNameOf('../a: "b" <c>|\n', 'sess_1'), 'a b c.jsonl');
  assert.equal(fileNameOf('', 'sess_1'), 'sess_1.jsonl');
  assert.equal(fileNameOf('é'.repeat(100), 'x').length, 66);
});

test('snippets begin shortly before their first match', () => {
  assert.equal(snippetOf({ snippet: 'It prints\n a greeting.', marks: [[13, 21]] }), 'It prints a greeting.');
  const long = snippetOf({ snippet: `${'ééé '.repeat(60)}greeting and more`, marks: [[420, 428]] });
  assert.match(long, /^…(ééé )+greeting and more$/);
  assert.ok(long.indexOf('greeting') <= 42);
  assert.equal(snippetOf({ snippet: 'no marks', marks: [] }), 'no marks');
});

test('figures are short', () => {
  assert.deepEqual([0, 999, 1000, 1234, 128_000, 999_600, 2_345_678].map(tokens), ['0', '999', '1K', '1.2K', '128K', '1M', '2.3M']);
  assert.deepEqual([0, 0.00095, 0.5, 1, 12.345].map(dollars), ['$0', '$0.0009', '$0.5000', '$1.00', '$12.35']);
  assert.deepEqual([0, 0.599, 1].map(percent), ['0 %', '59 %', '100 %']);
  assert.deepEqual(['a.go', 'src/a.go', 'C:\\x\\a.go', '/'].map(baseName), ['a.go', 'a.go', 'a.go', '/']);
  assert.deepEqual(['a.go', 'src/a.go', '/x/y/a.go'].map(folderName), ['', 'src', '/x/y']);
});

test('texts of the server are no Markdown', () => {
  assert.equal(escaped('a *b*\n[c](command:x) <img> &lt; $(x)'), 'a \\*b\\* \\[c\\]\\(command:x\\) \\<img\\> \\&lt; $\\(x\\)');
});

test('work that is asked for while it runs runs once more, and never twice at once', async () => {
  let running = 0;
  let runs = 0;
  const waiting: (() => void)[] = [];
  const refresh = new Refresh(async () => {
    assert.equal(++running, 1);
    runs++;
    await new Promise<void>((resolve) => waiting.push(resolve));
    running--;
  }, () => Promise.resolve());
  for (let i = 0; i < 5; i++) refresh.request();
  assert.equal(runs, 1);
  waiting.shift()!();
  await new Promise(setImmediate);
  assert.equal(runs, 2);
  waiting.shift()!();
  await new Promise(setImmediate);
  assert.equal(runs, 2);
  refresh.request();
  assert.equal(runs, 3);
});

test('sessions of a folder that was opened through a link are those of the workspace', () => {
  const listed = (cwd: string, folder?: string) => ({ info: { cwd, ...(folder ? { _meta: { strata: { folder } } } : {}) }, state: '' }) as never;
  const own = ownFolders([listed('/link/app', '/real/app'), listed('/other')], ['/link/app']);
  assert.deepEqual([...own], ['/link/app', '/real/app']);
});
