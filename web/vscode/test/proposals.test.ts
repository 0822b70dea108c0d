import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesOfCall, excerptOf, textAfter } from '../src/proposals/calls.ts';
import { applied } from '../src/proposals/hunks.ts';
import { pathInHead, pathInLine } from '../src/proposals/naming.ts';
import { filesOf, isUnified, patched } from '../src/proposals/unified.ts';

test('a hunk fits at its line, or at the only other place', () => {
  const text = 'a\nb\nc\nb\n';
  assert.equal(applied(text, [{ old: 'b\n', new: 'B\n', oldLine: 4 }]), 'a\nb\nc\nB\n');
  assert.equal(applied(text, [{ old: 'c\n', new: 'C\n', oldLine: 1 }]), 'a\nb\nC\nb\n');
  assert.equal(applied(text, [{ old: 'b\n', new: 'B\n', oldLine: 1 }]), null, 'two places');
  assert.equal(applied(text, [{ old: 'x\n', new: 'X\n', oldLine: 1 }]), null, 'no place');
  assert.equal(applied('ab\nb\n', [{ old: 'b\n', new: 'B\n' }]), 'ab\nB\n', 'whole lines only');
  assert.equal(applied('bc\n', [{ old: 'b', new: 'B' }]), null, 'whole lines only');
});

test('hunks apply in order, and keep the line ends', () => {
  const hunks = [{ old: 'a\n', new: 'A\n', oldLine: 1 }, { old: 'c', new: 'C', oldLine: 3 }];
  assert.equal(applied('a\r\nb\r\nc', hunks), 'A\r\nb\r\nC');
  assert.equal(applied('a\nb\nc', [...hunks].reverse()), null);
  assert.equal(applied('', [{ old: '', new: 'x\n', oldLine: 1 }]), 'x\n');
});

test('the changes of a call are joined by file', () => {
  const changes = changesOfCall([
    { type: 'diff', path: '/a', oldText: 'a\n', newText: 'A\n', _meta: { strata: { oldLine: 1, newLine: 1 } } },
    { type: 'content', content: { type: 'text', text: 'a\n' } },
    { type: 'diff', path: '/a', oldText: 'c\n', newText: '', _meta: { strata: { oldLine: 3, newLine: 3, cut: true } } },
    { type: 'diff', path: '/new', oldText: null, newText: 'n\n' },
    { type: 'diff', path: '/gone', oldText: 'g\n', newText: '', _meta: { strata: { deleted: true } } },
    { type: 'diff', path: '/binary', oldText: '', newText: '' },
  ]);
  assert.deepEqual(changes.map(({ path, state, isCut }) => [path, state, isCut]), [['/a', 'changed', true], ['/new', 'new', false], ['/gone', 'deleted', false]]);
  const [a, created, gone] = changes;
  assert.equal(textAfter('a\nb\nc\n', a!), 'A\nb\n');
  assert.equal(textAfter('other\n', a!), null);
  assert.deepEqual(excerptOf(a!), { old: 'a\n⋯\nc\n', new: 'A\n⋯\n' });
  assert.equal(textAfter('', created!), 'n\n');
  assert.equal(textAfter('is there\n', created!), null);
  assert.equal(textAfter('g\n', gone!), '');
});

test('a unified diff has the changes of its files', () => {
  const diff = 'diff --git a/x b/x\nindex 1..2\n--- a/x.go\t2026\n+++ b/x.go\n@@ -1,9 +1,9 @@ func\n a\n-b\n+B\n\n@@ -8 +8 @@\n-h\n+H\n\\ No newline at end of file\n--- /dev/null\n+++ b/new.go\n@@ -0,0 +1 @@\n+n\n--- a/gone.go\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n';
  const files = filesOf(diff);
  assert.deepEqual(files.map(({ path, state }) => [path, state]), [['x.go', 'changed'], ['new.go', 'new'], ['gone.go', 'deleted']]);
  assert.equal(patched('a\nb\n\nd\nh\n', files[0]!), 'a\nB\n\nd\nH\n', 'wrong numbers are only hints');
  assert.equal(patched('a\r\nb\r\n\r\nh', files[0]!), 'a\r\nB\r\n\r\nH', 'no line end at the end');
  assert.equal(patched('', files[1]!), 'n\n');
  assert.equal(patched('is there\n', files[1]!), null);
});

test('a diff without heads of hunks is one hunk', () => {
  const [file, ...rest] = filesOf(' a\n-b\n+B');
  assert.deepEqual(rest, []);
  assert.equal(patched('x\na\nb\n', file!), 'x\na\nB\n');
  assert.ok(isUnified('-b\n+B', 'diff'));
  assert.ok(!isUnified('- a list\n- of things', 'md'));
  assert.ok(!isUnified('@@ nothing', 'diff'));
  assert.throws(() => filesOf('--- a\n+++ a\n@@ @@\n+a\n'.repeat(21)), /20 files/);
  assert.throws(() => filesOf(`--- a\n+++ a\n${'@@ @@\n+a\n'.repeat(1001)}`), /1000 hunks/);
});

test('the line that opens a block names a file', () => {
  for (const info of ['go main.go', 'go:main.go', 'go title="main.go"', "js {file='main.go'}", 'main.go', 'filename=main.go', 'go path=main.go']) assert.equal(pathInHead(info), 'main.go', info);
  assert.equal(pathInHead('ts web/src/a-b.test.ts'), 'web/src/a-b.test.ts');
  for (const info of ['', 'go', 'go title="two words"', 'c++', 'http://a.example/x.go', `a.${'x'.repeat(400)}`]) assert.equal(pathInHead(info), undefined, info);
});

test('the line before a block names a file if it has one path', () => {
  for (const line of ['**src/a.ts**', '`src/a.ts`:', '### src/a.ts', 'Write this to `src/a.ts`:', 'src/a.ts']) assert.equal(pathInLine(line), 'src/a.ts', line);
  for (const line of ['', 'From `a.ts` to `b.ts`:', 'Run `make test`.', 'See e.g. the code']) assert.equal(pathInLine(line), undefined, line);
});
