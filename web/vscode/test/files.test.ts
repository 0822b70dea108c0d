import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { Uri as EditorUri } from 'vscode';
import { walk } from '../src/held/walk.ts';
import { Files } from '../src/workspace/files.ts';
import { FileType, Uri, workspace } from './desktop/vscode.ts';

/** Runs a function while the file system of the editor has another method. */
async function withMethod<K extends keyof typeof workspace.fs>(name: K, method: (typeof workspace.fs)[K], run: () => Promise<void>): Promise<void> {
  const before = workspace.fs[name];
  workspace.fs[name] = method;
  try {
    await run();
  } finally {
    workspace.fs[name] = before;
  }
}

test('a list of more files than the limit is incomplete, also if they are in one folder', async () => {
  const names = (n: number) => Array.from({ length: n }, (_, i): [string, FileType] => [`f${i}`, FileType.File]);
  for (const [n, isComplete] of [[20_000, true], [20_001, false]] as const) {
    await withMethod('readDirectory', async () => names(n), async () => {
      const walked = await walk(Uri.file('/x') as unknown as EditorUri);
      assert.deepEqual([walked.paths.length, walked.isComplete], [20_000, isComplete]);
    });
  }
});

test('a file is not written after the server has given up', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'strata-files-'));
  const name = path.join(folder, 'a.txt');
  writeFileSync(name, 'old\n');
  const files = new Files(true);
  const { readTextFile, writeTextFile } = files.handlers;
  await readTextFile({ sessionId: 's', path: name }, { signal: new AbortController().signal });
  for (const file of [name, path.join(folder, 'new.txt')]) {
    const abort = new AbortController();
    const written = Promise.resolve(writeTextFile({ sessionId: 's', path: file, content: 'new\n' }, { signal: abort.signal }));
    abort.abort();
    await assert.rejects(written, { name: 'AbortError' });
  }
  assert.equal(readFileSync(name, 'utf8'), 'old\n');
  assert.throws(() => readFileSync(path.join(folder, 'new.txt')));
});
