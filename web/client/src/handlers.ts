import type { ConnectOptions, RequestHandlers } from './api.js';
import type { ClientCapabilities, ServerRequests } from './protocol.js';
import type { Handler } from './serving.js';

/** Returns the handlers by the methods that they serve. */
export function methodsOf({ permission, readTextFile, writeTextFile, terminal, workspace, toolCall }: RequestHandlers): [keyof ServerRequests, Handler][] {
  const methods: [keyof ServerRequests, Handler | undefined][] = [
    ['session/request_permission', permission],
    ['fs/read_text_file', readTextFile],
    ['fs/write_text_file', writeTextFile],
    ['terminal/create', terminal?.create],
    ['terminal/output', terminal?.output],
    ['terminal/wait_for_exit', terminal?.waitForExit],
    ['terminal/kill', terminal?.kill],
    ['terminal/release', terminal?.release],
    ['_strata/workspace/list', workspace?.list],
    ['_strata/workspace/read', workspace?.read],
    ['_strata/workspace/delete', workspace?.delete],
    ['_strata/workspace/move', workspace?.move],
    ['_strata/tool/call', toolCall],
  ];
  return methods.filter((entry): entry is [keyof ServerRequests, Handler] => entry[1] !== undefined);
}

/** Says with `attach` that this client has the files of a session, if they are those of its handlers. */
export interface Claim {
  workspace?: 'client';
  workspaceId?: string;
}

/** Returns what the client says of the files of the sessions that it watches. */
export function claimOf({ handlers = {} }: ConnectOptions): Claim {
  const { workspace } = handlers;
  if (!workspace) return {};
  return { workspace: 'client', ...(workspace.id !== undefined ? { workspaceId: workspace.id } : {}) };
}

/** The capabilities that a client requests if it names none. */
const DEFAULTS: ClientCapabilities = { session: { notices: {}, compaction: {} } };

/** Returns the capabilities sent with `initialize`: those given, and those of the handlers. */
export function capabilitiesOf({ clientCapabilities: given = DEFAULTS, handlers = {} }: ConnectOptions): ClientCapabilities {
  const { readTextFile, writeTextFile, terminal, workspace, permission } = handlers;
  const fs = { ...(readTextFile ? { readTextFile: true } : {}), ...(writeTextFile ? { writeTextFile: true } : {}), ...given.fs };
  return {
    ...(terminal ? { terminal: true } : {}),
    ...given,
    ...(Object.keys(fs).length > 0 ? { fs } : {}),
    _meta: { ...given._meta, strata: { permission: permission !== undefined, ...(workspace ? { workspace: true } : {}), ...given._meta?.strata } },
  };
}
