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
  /** Whether files that the model sees are marked. */
  get decorations(): boolean {
    return read('decorations', true);
  },
  /** Paths of the server by the start of URIs. */
  get pathMappings(): Readonly<Record<string, string>> {
    return read('pathMappings', {});
  },
};

/** The settings that a connection depends on. */
export const CONNECTION_SETTINGS = ['strata.path', 'strata.start', 'strata.server.url'];

function read<T>(name: string, initial: T): T {
  return vscode.workspace.getConfiguration('strata').get<T>(name, initial);
}
