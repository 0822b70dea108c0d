import assert from 'node:assert/strict';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Restored, RestoredFiles, SessionHandle, TurnChange } from '../src/index.js';
import { connected, world } from './control.js';

// The changes that tools made of files: listed by turn, taken back one by one, and with a restore of the view.

/** A session in a folder of its own, whose tools may change files. */
async function editing() {
  const client = await connected();
  const cwd = await mkdtemp(join((await world()).project, 'edits-'));
  await writeFile(join(cwd, 'a.txt'), 'one\n');
  const s = await client.newSession({ cwd });
  const sessionId = s.id;
  for (const [configId, value] of [['model', 'offline/actor'], ['approval', 'edits']] as const) {
    await client.call('session/set_config_option', { sessionId, configId, value });
  }
  const text = (name: string): Promise<string> => readFile(join(cwd, name), 'utf8').catch(() => 'none');
  return { client, cwd, s, sessionId, text };
}

const SCRIPT = `call read_file {"path":"a.txt"}
---
call edit_file {"path":"a.txt","edits":[{"old_text":"one","new_text":"two"}]}
---
call write_file {"path":"b.txt","content":"new\\n"}
---
call move_file {"from":"b.txt","to":"c.txt"}
---
say Done.`;

const told = (changes: TurnChange[], cwd: string): string[] =>
  changes.map(({ kind, path, to, state, diff }) => [kind, path.slice(cwd.length + 1), to?.slice(cwd.length + 1) ?? '', state, diff?.hunks[0]?.new?.trim() ?? ''].join(' '));

const outcomes = ({ files }: Partial<RestoredFiles>, cwd: string): string[] =>
  (files ?? []).map(({ path, outcome, change, reason }) => [path.slice(cwd.length + 1), outcome, change ?? reason ?? ''].join(' '));

/** Runs a turn, and returns its ids. */
const ended = async (s: SessionHandle, prompt: string) => (await s.prompt(prompt).result)._meta!.strata;

/** The restore has happened, or was shown. */
function now(restored: Restored): Exclude<Restored, { afterTurn: string }> {
  assert.ok(!('afterTurn' in restored));
  return restored;
}

test('the changes of a turn are listed, and one of them is taken back and put forward again', async () => {
  const { client, cwd, s, sessionId, text } = await editing();
  const { turnId } = await ended(s, SCRIPT);
  const { changes } = await client.call('_strata/turn/changes', { sessionId, turnId });
  assert.deepEqual(told(changes, cwd), ['edit a.txt  done two', 'create b.txt  done new', 'move b.txt c.txt done ']);
  const { turnId: second } = await ended(s, 'call write_file {"path":"d.txt","content":"d\\n"}');
  const page = await client.call('_strata/turn/changes', { sessionId, limit: 1 });
  assert.deepEqual(page.changes.map((c) => c.turnId), [second]);
  const older = await client.call('_strata/turn/changes', { sessionId, limit: 1, cursor: page.nextCursor! });
  assert.deepEqual(older, { changes });

  const changeIds = [changes[0]!.id];
  const preview = await client.call('_strata/changes/revert', { sessionId, changeIds, preview: true });
  assert.deepEqual(outcomes(preview, cwd), ['a.txt restored put_back']);
  assert.equal(await text('a.txt'), 'two\n');
  assert.deepEqual(outcomes(await client.call('_strata/changes/revert', { sessionId, changeIds }), cwd), outcomes(preview, cwd));
  assert.equal(await text('a.txt'), 'one\n');
  const now = await client.call('_strata/turn/changes', { sessionId, turnId });
  assert.deepEqual(now.changes.map(({ state }) => state), ['restored', 'done', 'done']);
  await client.call('_strata/changes/revert', { sessionId, changeIds, forward: true });
  assert.equal(await text('a.txt'), 'two\n');

  await writeFile(join(cwd, 'a.txt'), 'three\n');
  const conflict = await client.call('_strata/changes/revert', { sessionId, changeIds });
  assert.deepEqual(outcomes(conflict, cwd), ['a.txt conflict changed']);
  assert.equal(await text('a.txt'), 'three\n');
});

test('a restore puts files back only if it is asked to, and an undo puts them forward', async () => {
  const { client, cwd, s, sessionId, text } = await editing();
  const { userMessageId } = await ended(s, SCRIPT);
  const to = { sessionId, beforeMessageId: userMessageId };
  const preview = now(await client.call('_strata/checkpoint/restore', { ...to, files: true, preview: true }));
  assert.deepEqual(outcomes(preview, cwd), ['a.txt restored put_back', 'b.txt unchanged ', 'c.txt restored deleted']);
  assert.match(preview.note!, /commands/);
  assert.equal(now(await client.call('_strata/checkpoint/restore', { ...to, preview: true })).files, undefined);
  assert.equal(await text('c.txt'), 'new\n');
  now(await client.call('_strata/checkpoint/restore', { ...to, files: true }));
  assert.deepEqual([await text('a.txt'), await text('c.txt')], ['one\n', 'none']);
  const undone = now(await client.call('_strata/checkpoint/undo', { sessionId }));
  assert.deepEqual(outcomes(undone, cwd).filter((o) => o.includes('restored')), ['a.txt restored put_back', 'c.txt restored created']);
  assert.deepEqual([await text('a.txt'), await text('c.txt')], ['two\n', 'new\n']);
});
