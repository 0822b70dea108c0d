import type { ConnectOptions, Endpoint, TerminalHandlers } from '@strata/client';

/** What differs between an extension host with Node and one in a browser. */
export interface Platform {
  /** Returns the server of this machine. It throws an `Unusable` if there is none, and none can be started. */
  find?: (options: FindOptions) => Promise<Endpoint>;
  WebSocket?: ConnectOptions['WebSocket'];
  /** Runs commands in terminals. */
  terminals?: TerminalHandlers & { endAll(): void; dispose(): void };
  /** Whether paths of the server are files of this machine. */
  local: boolean;
}

export interface FindOptions {
  /** Whether a server is started if none is running. */
  start: boolean;
  /** Called before a server is started. */
  onStart: () => void;
  /** Aborting gives up. */
  signal: AbortSignal;
}

/** Why there is no server to connect to. */
export type Lack = 'notInstalled' | 'notStarted' | 'notRunning' | 'stopped' | 'noAddress' | 'badAddress' | 'noToken';

/** There is no server to connect to: only the user can change that. */
export class Unusable extends Error {
  override name = 'Unusable';

  constructor(readonly lack: Lack, message: string) {
    super(message);
  }
}
