import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Questions } from '../src/chat/questions.js';
import { editor } from './desktop/vscode.ts';

const ask = (questions: Questions, sessionId: string, title: string): void =>
  void questions.ask({ sessionId, toolCall: { toolCallId: 'c', title }, options: [] } as never, { signal: new AbortController().signal } as never);

test('a question of a session that the chat does not show is notified, and leads to it', async () => {
  const shown: string[] = [];
  const questions = new Questions((id) => shown.push(id), (id) => id === 'in sight');
  editor.messages.length = 0;
  editor.answers.push('Show Request');
  ask(questions, 'in sight', 'Edit a.go');
  ask(questions, 'behind', 'Edit b.go');
  await new Promise(setImmediate);
  assert.deepEqual(editor.messages, ['Strata needs permission: Edit b.go']);
  assert.deepEqual(shown, ['behind']);
});

test('a title in a notification makes no link that runs a command', () => {
  const questions = new Questions(() => {}, () => false);
  editor.messages.length = 0;
  ask(questions, 's', 'Edit [a.go](command:workbench.action.closeWindow)');
  assert.deepEqual(editor.messages, ['Strata needs permission: Edit [a.go] (command:workbench.action.closeWindow)']);
});
