import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Patterns } from '../src/held/ignore.ts';
import { nameOf, restOf } from '../src/held/names.ts';

const at = (scheme: string, authority: string, path: string, query = '') => ({ scheme, authority, path, query });

test('files of the editor have the same names in each window', () => {
  assert.equal(nameOf(at('vscode-vfs', 'github', '/owner/repo')), '/vscode-vfs/github/owner/repo');
  assert.equal(nameOf(at('disk', '', '/')), '/disk');
  assert.equal(nameOf(at('disk', '', '/a/b c.ts')), '/disk/a/b c.ts');
  assert.equal(nameOf(at('vfs', 'host', '/a', 'ref=x/y')), '/vfs?ref%3Dx%2Fy/host/a');
});

test('only paths below a folder are in it', () => {
  assert.deepEqual(['/disk', '/disk/a/b', '/disks/a', '/disk/../a', '/disk//a', '/disk/'].map((path) => restOf(path, '/disk')),
    ['', 'a/b', undefined, undefined, undefined, undefined]);
});

/** Returns the paths that a .gitignore excludes; folders end with a slash. */
const ignored = (text: string, ...paths: string[]) =>
  paths.filter((path) => Patterns.ofGit(text).excludes(path.replace(/\/$/, ''), path.endsWith('/')) === true);

test('patterns of .gitignore', () => {
  const cases: [string, string[], string[]][] = [
    ['*.log', ['a.log', 'b/c.log'], ['a.logs', 'log']],
    ['/build', ['build', 'build/'], ['a/build']],
    ['build/', ['build/', 'a/build/'], ['build']],
    ['a/b', ['a/b'], ['x/a/b', 'a/c']],
    ['a/**/b', ['a/b', 'a/x/y/b'], ['b', 'a/b/c']],
    ['**/foo', ['foo', 'x/foo'], ['food']],
    ['dist/**', ['dist/a', 'dist/a/b'], ['dist', 'dists']],
    ['?.t[sx]', ['a.ts', 'b.tx'], ['ab.ts', 'a.tz']],
    ['[!a-c]', ['d'], ['a', 'b', 'dd']],
    ['\\#a', ['#a'], ['a']],
    ['# a\n\n  \nb ', ['b'], ['# a', 'a', ' ']],
    ['*.a\n!b.a', ['a.a'], ['b.a']],
  ];
  for (const [text, excluded, others] of cases) assert.deepEqual(ignored(text, ...excluded, ...others), excluded, text);
});

test('patterns of files.exclude', () => {
  const patterns = Patterns.ofGlobs(['**/.git', '**/*.{js,map}', 'out']);
  const paths = ['.git', 'a/.git', 'a.js', 'b/c.map', 'out', 'a.ts', 'a/out'];
  assert.deepEqual(paths.filter((path) => patterns.excludes(path, false)), paths.slice(0, 5));
});

test('a hostile pattern takes no more time than its length', () => {
  const text = `${'*a'.repeat(400)}b`;
  assert.deepEqual(ignored(text, 'a'.repeat(5_000)), []);
  assert.deepEqual(ignored(`${'**/a/'.repeat(150)}b`, 'a/'.repeat(2_000) + 'c'), []);
  assert.ok(Patterns.ofGlobs(['{a,b}'.repeat(100)]).excludes('a'.repeat(100), false) !== false);
});
