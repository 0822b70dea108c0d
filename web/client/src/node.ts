export { findServer, ServerNotFound } from './find.js';
export type { Environment, FoundServer } from './find.js';
export { startServer, ServerNotStarted } from './start.js';
export type { StartOptions } from './start.js';
