import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

/** The folder of the extension, in which the tests run. */
const read = (name: string): string => readFileSync(name, 'utf8');

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts')).map((name) => read(path.join('src', name)));

test('the bundle for translators has the texts of the sources', () => {
  const used = sources.flatMap((text) => [...text.matchAll(/l10n\.t\('((?:[^'\\]|\\.)*)'/g)].map((match) => match[1]!));
  assert.deepEqual(Object.keys(JSON.parse(read('l10n/bundle.l10n.json')) as object).sort(), [...new Set(used)].sort());
});

test('package.json has a text for each of its names, and no other', () => {
  const used = [...read('package.json').matchAll(/"%([\w.]+)%"/g)].map((match) => match[1]!);
  assert.deepEqual(Object.keys(JSON.parse(read('package.nls.json')) as object).sort(), [...new Set(used)].sort());
});

test('the commands of package.json are those of the sources', () => {
  const { contributes } = JSON.parse(read('package.json')) as { contributes: { commands: { command: string }[] } };
  const tables = sources.flatMap((text) => [...text.matchAll(/^  readonly table = \{\n(.*?)\n  \};/gms)].map((match) => match[1]!));
  const registered = tables.flatMap((table) => [...table.matchAll(/^    (\w+):/gm)].map((match) => `strata.${match[1]}`));
  assert.deepEqual(contributes.commands.map(({ command }) => command).sort(), registered.sort());
});
