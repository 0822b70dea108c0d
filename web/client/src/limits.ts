import { LimitExceeded } from './errors.js';
import type { InitializeResult } from './protocol.js';

/** The size of the largest frame that a server reads by default, in bytes. */
export const DEFAULT_FRAME_BYTES = 16 << 20;

/** Returns the size of the largest frame that a server reads, in bytes; the default before it is known. */
export function frameBytes(agent: InitializeResult | null | undefined): number {
  const limit = agent?.agentCapabilities._meta.strata.limits?.frameBytes;
  return typeof limit === 'number' && limit > 0 ? limit : DEFAULT_FRAME_BYTES;
}

/** Returns the frame of a request. `body` are its parameters as JSON. */
export function requestFrame(id: number, method: string, body: string | undefined): string {
  const params = body === undefined ? '' : `,"params":${body}`;
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${params}}`;
}

/** Returns the error for a frame above the limit, null for any other. */
export function tooLarge(method: string, frame: string, limit: number): LimitExceeded | null {
  if (frame.length * 3 <= limit) return null; // a UTF-16 unit has at most 3 bytes in UTF-8
  const size = frame.length > limit ? frame.length : new TextEncoder().encode(frame).length;
  return size > limit ? new LimitExceeded(`${method}: at least ${size} bytes exceeds the server's limit of ${limit} bytes`) : null;
}
