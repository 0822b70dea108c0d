import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invalidMappings, mappingsOf, pathOf, uriOf } from '../src/workspace/paths.ts';

const mappings = mappingsOf({ 'disk:/': '/home/me/project', 'disk:/lib': '/opt/lib/', 'vscode-vfs://github/a/b': 'C:\\src\\b' });

for (const [path, uri] of [
  ['/home/me/project', 'disk:/'],
  ['/home/me/project/a/b c.txt', 'disk:/a/b%20c.txt'],
  ['/opt/lib/x.go', 'disk:/lib/x.go'],
  ['C:\\src\\b\\d\\e.ts', 'vscode-vfs://github/a/b/d/e.ts'],
] as const) {
  test(`${path} is ${uri}`, () => {
    assert.equal(uriOf(path, mappings), uri);
    assert.equal(pathOf(uri, mappings), path);
  });
}

test('the root of a scheme is a folder with and without a slash', () => assert.equal(pathOf('disk:', mappings), '/home/me/project'));

test('what no mapping contains has no place', () => {
  assert.equal(uriOf('/home/me/projects/a', mappings), undefined);
  assert.equal(uriOf('/home/me', mappings), undefined);
  assert.equal(pathOf('file:///home/me/project/a', mappings), undefined);
  assert.equal(pathOf('vscode-vfs://github/a/bc', mappings), undefined);
});

test('an invalid mapping is named, and the others count', () => {
  const setting = { 'disk:/': '/a', 'disk:/b': 'relative/b', '/c': '/c', 'disk:/%zz': '/d', 'disk:/e': 5, 'disk:/f f': '/f', 'vscode-vfs://g': '\\\\host\\g' };
  assert.deepEqual(invalidMappings(setting), ['disk:/b', '/c', 'disk:/%zz', 'disk:/e', 'disk:/f f']);
  assert.deepEqual(mappingsOf(setting).map(({ path }) => path), ['\\\\host\\g', '/a']);
});

test('the letter of a drive has any case', () => {
  const drives = mappingsOf({ 'file:///C:/src': 'D:\\src' });
  assert.equal(pathOf('file:///c%3A/src/A.ts', drives), 'D:\\src\\A.ts');
  assert.equal(uriOf('d:\\src\\A.ts', drives), 'file:///C:/src/A.ts');
});

test('a mapping of a URI that would end before its path is invalid', () => {
  const setting = { 'file:///home/me/C#': '/c', 'file:///home/me/why?': '/y', 'file:///home/me/C%23': '/c' };
  assert.deepEqual(invalidMappings(setting), ['file:///home/me/C#', 'file:///home/me/why?']);
  assert.equal(uriOf('/c/a.cs', mappingsOf(setting)), 'file:///home/me/C%23/a.cs');
});

test('roots are mapped to folders and to roots', () => {
  for (const [root, folder, path, uri] of [
    ['vscode-remote://wsl+Ubuntu/', '/', '/home/a.go', 'vscode-remote://wsl+Ubuntu/home/a.go'],
    ['file:///', '/mnt', '/mnt/home/a.go', 'file:///home/a.go'],
    ['disk:/', 'C:\\', 'C:\\src\\a.go', 'disk:/src/a.go'],
    ['vscode-vfs://github', '/b', '/b', 'vscode-vfs://github/'],
  ] as const) {
    const one = mappingsOf({ [root]: folder });
    assert.equal(uriOf(path, one), uri);
    assert.equal(pathOf(uri, one), path);
  }
});
