export type * from './api.js';
export type * from './protocol.js';
export { ErrorCode } from './protocol.js';
export { VERSION } from './version.js';
