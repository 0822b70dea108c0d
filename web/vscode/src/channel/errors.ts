import { ClientClosed, ConnectionLost, ConnectionRefused, LimitExceeded, RpcError } from '@strata/client';
import type { SentError } from './messages.js';

const classes = { ClientClosed, ConnectionLost, ConnectionRefused, LimitExceeded };

/** Returns an error as a message has it. */
export function sent(thrown: unknown): SentError {
  if (thrown instanceof RpcError) return { name: thrown.name, message: thrown.message, code: thrown.code, data: thrown.data };
  if (thrown instanceof Error) return { name: thrown.name, message: thrown.message };
  return { name: 'Error', message: String(thrown) };
}

/** Returns the error of a message, in the class that it had. */
export function received({ name, message, code, data }: SentError): Error {
  if (name === 'RpcError') return new RpcError(code ?? 0, message, data);
  if (name === 'AbortError') return new DOMException(message, name);
  const known = classes[name as keyof typeof classes];
  return known ? new known(message) : Object.assign(new Error(message), { name });
}
