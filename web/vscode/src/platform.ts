import type { ConnectOptions, Endpoint, TerminalHandlers } from '@strata/client';

/** What differs between an extension host with Node and one in a browser. */
export interface Platform {
  /** Returns the server of this machine, which is started if necessary; undefined if there can be none. */
  find?: () => Promise<Endpoint>;
  WebSocket?: ConnectOptions['WebSocket'];
  /** Runs commands in terminals. */
  terminals?: TerminalHandlers & { dispose(): void };
  /** Whether paths of the server are files of this machine. */
  local: boolean;
}

/** The program `strata` cannot be started. */
export class NotInstalled extends Error {
  override name = 'NotInstalled';
}
