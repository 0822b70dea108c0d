import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
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

test('the settings of package.json are those that the sources read', () => {
  const { contributes } = JSON.parse(read('package.json')) as { contributes: { configuration: { properties: Record<string, { order?: number }> } } };
  const known = Object.entries(contributes.configuration.properties);
  const used = sources.flatMap((text) => [...text.matchAll(/\bread\('([\w.]+)', /g)].map((match) => `strata.${match[1]}`));
  assert.deepEqual(known.map(([name]) => name).sort(), [...new Set(used)].sort());
  const orders = known.map(([, { order }]) => order);
  assert.deepEqual(orders, [...new Set(orders)].sort((a, b) => a! - b!), 'each setting has an order of its own');
});

test('menus, keys and the walkthrough name commands and files that exist', () => {
  const text = read('package.json');
  const { contributes } = JSON.parse(text) as { contributes: { commands: { command: string }[]; views: { strata: { id: string }[] } } };
  const ofEditor = contributes.views.strata.map(({ id }) => `${id}.focus`);
  const commands = new Set([...contributes.commands.map(({ command }) => command), ...ofEditor]);
  const named = [...(text + read('package.nls.json')).matchAll(/(?:"command": "|onCommand:|\(command:)(strata\.[\w.]+)/g)].map((match) => match[1]!);
  assert.deepEqual(named.filter((name) => !commands.has(name)), []);
  for (const [, name] of text.matchAll(/"(media\/[\w/.]+)"/g)) assert.ok(existsSync(name!), name);
});

test('notifications with foreign texts are shown without links', () => {
  const direct = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts') && /\.show(?:Information|Warning|Error)Message\(/.test(read(path.join('src', name))));
  assert.deepEqual(direct, ['notices.ts']);
});
