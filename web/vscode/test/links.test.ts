import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Uri } from 'vscode';
import { linkTo } from '../src/mentions/links.js';
import type { Files } from '../src/workspace/files.js';
import * as vscode from './desktop/vscode.ts';

for (const [path, uri] of [
  ['/home/me/a b#c?.ts', 'file:///home/me/a%20b%23c%3F.ts#L2:3'],
  ['C:\\src\\é.ts', 'file:///C:/src/%C3%A9.ts#L2:3'],
] as const) {
  test(`a link to ${path} is its URI on the server`, () => {
    const files = { path: () => path } as unknown as Files;
    assert.equal(linkTo(files, vscode.Uri.file('/a.ts') as unknown as Uri, { first: 2, last: 3 })?.uri, uri);
  });
}
