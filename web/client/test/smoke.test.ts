import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answersIn, asked, assertInOrder, connected, cut, isEvent, open, script, session, until } from './control.js';

test('a turn streams, survives a cut and is asked once', async () => {
  const client = await connected();
  const s = await session(client);
  const events = s.watch();
  const seen = await until(events, (e) => e.type === 'snapshot');
  await script({ text: 'one ' }, { gate: 'g1' }, { text: 'two ' }, { gate: 'g2' }, { text: 'three' });
  const before = await asked();
  const turn = s.prompt('Go');
  let text = '';
  for await (const update of turn) {
    if (update.sessionUpdate !== 'agent_message_chunk' || update.content.type !== 'text') continue;
    text += update.content.text;
    if (text === 'one ') {
      assert.equal(await cut(), 1);
      await open('g1');
    }
    if (text === 'one two ') await open('g2');
  }
  assert.equal(text, 'one two three');
  assert.equal((await turn.result).stopReason, 'end_turn');
  assert.equal(await turn.text(), text);
  seen.push(...(await until(events, isEvent('turn_finished'))));
  assertInOrder(seen);
  assert.equal(answersIn(seen), text);
  assert.equal((await asked()) - before, 1);
});
