import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, RpcError } from '../src/index.js';

/** Describes an error. This compiles only if the code tells the type of the data. */
function described(error: RpcError): string {
  switch (error.code) {
    case ErrorCode.notFound:
      return `${error.data?.kind} ${error.data?.id}`;
    case ErrorCode.busy:
      return error.data?.turnId ?? `limit ${error.data?.limit?.toFixed()}`;
    case ErrorCode.overBudget:
      return `${error.data?.tokens.toFixed()} of ${error.data?.limit.toFixed()}`;
    case ErrorCode.provider:
      return error.data?.kind === 'auth' ? 'key' : `status ${error.data?.status.toFixed()}`;
    case ErrorCode.refusedPath:
    case ErrorCode.editRefused:
      return `${error.data?.path}: ${error.data?.reason.toUpperCase()}`;
    case ErrorCode.storage:
      return error.data?.reason ?? '';
    default:
      return error.message;
  }
}

test('the code of an error tells the type of its data', () => {
  for (const [code, data, want] of [
    [-32002, { kind: 'file', id: 'a' }, 'file a'],
    [-32010, { turnId: 't' }, 't'],
    [-32010, { limit: 3 }, 'limit 3'],
    [-32011, { tokens: 5, limit: 4 }, '5 of 4'],
    [-32012, { status: 401, partial: false, kind: 'auth' }, 'key'],
    [-32013, { path: 'a', reason: 'secret' }, 'a: SECRET'],
    [-32014, { path: 'a', reason: 'stale' }, 'a: STALE'],
    [-32015, { reason: 'full' }, 'full'],
    [-32602, undefined, 'words'],
    [-1, { any: 1 }, 'words'],
  ] as const) {
    assert.equal(described(new RpcError(code, 'words', data)), want);
  }
});

test('an RpcError is an Error with its name, code and data', () => {
  const thrown: unknown = new RpcError(7, 'words', [1]);
  assert.ok(thrown instanceof RpcError && thrown instanceof Error);
  assert.deepEqual([thrown.name, thrown.message, String(thrown)], ['RpcError', 'words', 'RpcError: words']);
  assert.deepEqual({ ...thrown }, { name: 'RpcError', code: 7, data: [1] });
});
