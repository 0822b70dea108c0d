import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { script, world } from './control.js';

test('the example in the README works', async () => {
  const { project } = await world();
  await script({ text: 'It says ' }, { text: 'hello.' });
  const example = fileURLToPath(new URL('readme-example.js', import.meta.url));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [example], { cwd: project });
  assert.match(stdout, /^It says hello\.\nend_turn: 5 tokens, \$0\.0000\n$/);
  assert.match(stderr, /connection: closed/);
});
