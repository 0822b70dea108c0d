import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { RpcError } from '../../client/src/index.ts';
import { Terminals } from '../src/workspace/terminals.ts';

const terminals = new Terminals();
const signal = new AbortController().signal;

/** Starts a line of a shell. */
const start = async (line: string, more = {}): Promise<{ sessionId: string; terminalId: string }> => {
  const { terminalId } = await terminals.create({ sessionId: 's', command: '/bin/sh', args: ['-c', line], ...more }, { signal });
  return { sessionId: 's', terminalId };
};

const exitOf = (terminal: { sessionId: string; terminalId: string }) => terminals.waitForExit(terminal, { signal });
const outputOf = (terminal: { sessionId: string; terminalId: string }) => terminals.output(terminal, { signal });

/** Waits until the output of a command has a line, and returns it. */
async function line(terminal: { sessionId: string; terminalId: string }): Promise<string> {
  for (;;) {
    const { output } = await outputOf(terminal);
    if (output.endsWith('\n')) return output.trim();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Waits until a process has ended, or is a zombie that nobody waits for. */
async function ended(pid: number): Promise<void> {
  while (isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

test('a command has its output, its exit code, its folder and its variables', async () => {
  const terminal = await start('echo out; echo err >&2; pwd; echo "$NAME"; exit 3', { cwd: '/', env: [{ name: 'NAME', value: 'value' }] });
  assert.deepEqual(await exitOf(terminal), { exitCode: 3, signal: null });
  const { output, truncated, exitStatus } = await outputOf(terminal);
  assert.deepEqual(output.split('\n').sort(), ['', '/', 'err', 'out', 'value']);
  assert.equal(truncated, false);
  assert.deepEqual(exitStatus, { exitCode: 3, signal: null });
});

test('a command that does not exist has an exit code and says why', async () => {
  const { terminalId } = await terminals.create({ sessionId: 's', command: 'strata-missing' }, { signal });
  assert.deepEqual(await exitOf({ sessionId: 's', terminalId }), { exitCode: 127 });
  assert.match((await outputOf({ sessionId: 's', terminalId })).output, /ENOENT/);
});

test('killing a command ends its children', async () => {
  const terminal = await start('sleep 1000 & echo $!; wait');
  const child = Number(await line(terminal));
  await terminals.kill(terminal, { signal });
  assert.deepEqual(await exitOf(terminal), { exitCode: null, signal: 'SIGTERM' });
  await ended(child);
  assert.equal((await outputOf(terminal)).output, `${child}\n`); // until it is released
});

test('a command that does not want to end is ended', async () => {
  const terminal = await start('trap "" TERM; echo ready; while :; do sleep 1000; done');
  await line(terminal);
  await terminals.kill(terminal, { signal });
  assert.deepEqual(await exitOf(terminal), { exitCode: null, signal: 'SIGKILL' });
});

test('processes in the background neither hold up the end of a command nor outlive it', async () => {
  const terminal = await start('trap "" TERM; sleep 1000 & echo $!');
  const child = Number(await line(terminal));
  assert.deepEqual(await exitOf(terminal), { exitCode: 0, signal: null });
  await ended(child);
});

test('a process that has left its group does not hold up the end of a command', async () => {
  const terminal = await start('f=$(mktemp); setsid sh -c "echo \\$\\$ >$f; exec sleep 1000" & until [ -s $f ]; do sleep 0.01; done; cat $f; rm $f');
  const child = Number(await line(terminal));
  assert.deepEqual(await exitOf(terminal), { exitCode: 0, signal: null });
  process.kill(-child, 'SIGKILL');
});

test('the end of a long output is kept, in whole characters', async () => {
  const terminal = await start('i=0; while [ $i -lt 400 ]; do printf "0123456789 \\303\\244 "; i=$((i + 1)); done; printf "\\303\\244\\303\\244x"', { outputByteLimit: 4 });
  await exitOf(terminal);
  const { output, truncated } = await outputOf(terminal);
  assert.equal(output, '\u00e4x');
  assert.equal(truncated, true);
});

test('releasing a terminal ends its command', async () => {
  const terminal = await start('sleep 1000 & echo $!; wait');
  const child = Number(await line(terminal));
  await terminals.release(terminal, { signal });
  await ended(child);
  assert.throws(() => outputOf(terminal), RpcError);
});

test('without a connection, all commands end', async () => {
  const terminal = await start('trap "" TERM; echo $$; while :; do sleep 1000; done');
  const shell = Number(await line(terminal));
  terminals.dispose();
  await ended(shell);
});
