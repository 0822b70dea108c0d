import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { Uri } from 'vscode';
import { CodeBlocks } from '../src/proposals/code.js';
import type { Proposal, Proposals } from '../src/proposals/proposals.js';
import type { Files } from '../src/workspace/files.js';
import * as vscode from './desktop/vscode.ts';

test('the paths of a reply are relative to the folder of its session', async () => {
  const top = mkdtempSync(path.join(tmpdir(), 'strata-code-'));
  const folders = ['first', 'second', 'second/part'].map((name) => path.join(top, name));
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'main.go'), '');
  }
  writeFileSync(path.join(top, 'first', 'other.go'), '');
  const { workspaceFolders } = vscode.workspace;
  workspaceFolders.push(...folders.slice(0, 2).map((folder, index) => ({ uri: vscode.Uri.file(folder), name: path.basename(folder), index })));
  const shown: string[] = [];
  const proposals = { show: async ({ uri }: Proposal) => String(shown.push(path.relative(top, uri.fsPath))) } as unknown as Proposals;
  let session: string | undefined;
  const code = new CodeBlocks(proposals, {} as Files, () => (session === undefined ? undefined : (vscode.Uri.file(path.join(top, session)) as unknown as Uri)));
  const apply = (name: string): Promise<void> => code.apply({ text: 'package main', info: `go ${name}`, before: '' });
  await apply('main.go');
  session = 'second/part';
  await apply('main.go');
  await apply('new.go');
  await apply('other.go');
  workspaceFolders.length = 0;
  rmSync(top, { recursive: true });
  assert.deepEqual(shown, ['first/main.go', 'second/part/main.go', 'second/part/new.go', 'first/other.go']);
});
