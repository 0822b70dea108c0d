export type * from './api.js';
export { connect } from './client.js';
export { ClientClosed, ConnectionLost, ConnectionRefused, RpcError, LimitExceeded } from './errors.js';
export type * from './protocol.js';
export { ErrorCode } from './protocol.js';
export { VERSION } from './version.js';
export { serveWorkspace, TextFiles } from './workspace.js';
export type { WorkspaceFile, WorkspaceFiles, WorkspaceHandlers } from './workspace.js';
