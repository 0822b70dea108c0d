import { ClientClosed, ConnectionLost, ConnectionRefused, LimitExceeded, RpcError, ServerUnreachable, type ConnectionState } from '@strata/client';
import type { SentError, SentState } from './messages.js';

const classes = { ClientClosed, ConnectionLost, LimitExceeded, ServerUnreachable };

/** Returns an error as a message has it. */
export function sent(thrown: unknown): SentError {
  if (thrown instanceof RpcError) return { name: thrown.name, message: thrown.message, code: thrown.code, data: thrown.data };
  if (thrown instanceof ConnectionRefused) return { name: thrown.name, message: thrown.message, reason: thrown.reason };
  if (thrown instanceof Error) return { name: thrown.name, message: thrown.message };
  return { name: 'Error', message: String(thrown) };
}

/** Returns the error of a message, in the class that it had. */
export function received({ name, message, code, data, reason }: SentError): Error {
  if (name === 'RpcError') return new RpcError(code ?? 0, message, data);
  if (name === 'AbortError') return new DOMException(message, name);
  if (reason) return new ConnectionRefused(message, reason);
  const known = classes[name as keyof typeof classes];
  return known ? new known(message) : Object.assign(new Error(message), { name });
}

/** Returns the state of a connection as a message has it. */
export function sentState(state: ConnectionState): SentState {
  if (state.kind === 'waiting') return { ...state, retryAt: state.retryAt.toISOString(), error: sent(state.error) };
  return state.kind === 'closed' ? { ...state, error: sent(state.error) } : state;
}

/** Returns the state of a connection in a message. */
export function receivedState(state: SentState): ConnectionState {
  if (state.kind === 'waiting') return { ...state, retryAt: new Date(state.retryAt), error: received(state.error) };
  return state.kind === 'closed' ? { ...state, error: received(state.error) } : state;
}
