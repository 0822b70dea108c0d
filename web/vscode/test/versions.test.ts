import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadVersions } from '../src/workspace/versions.ts';

test('a text that has changed since a session read it is not the newest', () => {
  const read = new ReadVersions();
  const document = { version: 1 };
  assert.ok(read.isNewest(document, 'a'));
  read.add(document, 'a');
  document.version++;
  read.add(document, 'b');
  assert.ok(!read.isNewest(document, 'a'));
  assert.ok(read.isNewest(document, 'b'));
});
