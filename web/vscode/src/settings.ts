import * as vscode from 'vscode';

/** The settings `strata.*`, read when they are used. */
export const settings = {
  /** The program `strata`. */
  get path(): string {
    return read('path', 'strata');
  },
  /** Whether a server is started if none is running. */
  get start(): boolean {
    return read('start', true);
  },
  /** The address of a server, "" to find the one of this machine. */
  get url(): string {
    return read('server.url', '').trim();
  },
  /** Whether the diff of a change opens when the server asks about it. */
  get openDiff(): boolean {
    return read('openDiff', true);
  },
  /** Paths of the server by the start of URIs. */
  get pathMappings(): Readonly<Record<string, unknown>> {
    return read('pathMappings', {});
  },
};

/** The settings that a connection depends on. */
export const CONNECTION_SETTINGS = ['strata.path', 'strata.start', 'strata.server.url'];

/** Returns the value of a setting, its default if the value has another type. */
function read<T>(name: string, initial: T): T {
  const value: unknown = vscode.workspace.getConfiguration('strata').get(name);
  return typeof value === typeof initial && value !== null && !Array.isArray(value) ? (value as T) : initial;
}
