export type * from './api.js';
export { connect } from './client.js';
export { ClientClosed, ConnectionLost, ConnectionRefused, LimitExceeded, RpcError, ServerUnreachable } from './errors.js';
export type { RefusalReason } from './errors.js';
export type * from './protocol.js';
export { ErrorCode } from './protocol.js';
export { VERSION } from './version.js';
