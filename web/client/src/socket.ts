import type { Endpoint, Socket, SocketConstructor } from './api.js';
import { ConnectionRefused } from './errors.js';

/** What a socket's error event tells, where it tells more than that there was one. */
interface ErrorEventLike {
  message?: string;
  error?: unknown;
  /** The HTTP status with which the upgrade was refused. */
  status?: number;
}

/** `node-socket.ts`, as far as it is used. */
interface NodeModule {
  NodeSocket: new (url: string, protocols: string[], headers: Record<string, string>) => Socket;
}

/** The WebSocket's address: that of the server, with the scheme and path that a WebSocket needs. */
export function socketURL(server: string): string {
  let url: URL;
  try {
    url = new URL(server);
  } catch {
    throw new ConnectionRefused('the url of the server is not an address');
  }
  if (url.protocol === 'http:') url.protocol = 'ws:';
  if (url.protocol === 'https:') url.protocol = 'wss:';
  if (url.protocol !== 'ws:' && url.protocol !== 'wss:') {
    throw new ConnectionRefused('the url of the server is not one of http, https, ws or wss');
  }
  if (url.pathname === '' || url.pathname === '/') url.pathname = '/acp';
  url.search = '';
  url.hash = '';
  return url.href;
}

/** The protocols that are offered: with the token where there is one, as browsers can set no headers. */
function protocols(token: string | undefined): string[] {
  return token === undefined ? ['acp'] : ['acp', `bearer.${token}`];
}

/**
 * Opens a socket. Rejects with `ConnectionRefused` where the server refuses for good, with another error where it
 * could not be reached or refuses for now.
 */
export async function openSocket(endpoint: Endpoint, given: SocketConstructor | undefined, signal: AbortSignal): Promise<Socket> {
  const url = socketURL(endpoint.url);
  const socket = await makeSocket(url, endpoint.token, given);
  try {
    await opened(socket, signal);
  } catch (error) {
    if (error instanceof ConnectionRefused) throw error;
    throw (await refusal(url, endpoint.token, signal)) ?? error;
  }
  return socket;
}

async function makeSocket(url: string, token: string | undefined, given: SocketConstructor | undefined): Promise<Socket> {
  const constructor = given ?? (globalThis.WebSocket as SocketConstructor | undefined);
  if (constructor) return new constructor(url, protocols(token));
  // The cast keeps a program that is checked without Node's types from having to know this module.
  const node = (await import('./node-socket.js' as string)) as NodeModule;
  return new node.NodeSocket(url, ['acp'], token === undefined ? {} : { Authorization: `Bearer ${token}` });
}

/** Waits until the socket is open; otherwise it is closed. */
function opened(socket: Socket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: unknown) => {
      signal.removeEventListener('abort', abort);
      socket.onopen = socket.onclose = null;
      // Some report an error behind the end, and would throw it where nobody listens.
      socket.onerror = () => {};
      if (error === undefined) return resolve();
      socket.close();
      reject(error);
    };
    const abort = () => settle(signal.reason);
    socket.onopen = () => settle();
    socket.onerror = (event: ErrorEventLike) => settle(describe(event)); // some tell no end behind it
    socket.onclose = () => settle(new Error('the server could not be reached'));
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
  });
}

/** The statuses with which a server refuses in a way that another try would not change. */
const FINAL = new Set([400, 401, 403, 404, 405, 426]);

function describe(event: ErrorEventLike | undefined): Error {
  const message = event?.message || 'the server could not be reached';
  const status = event?.status ?? Number(/Unexpected server response: (\d{3})$/.exec(message)?.[1]);
  if (FINAL.has(status)) return new ConnectionRefused(message, status);
  return new Error(message);
}

/**
 * Finds out why a socket did not open. Native WebSockets do not tell: a route that asks for the same secret does. Where
 * that cannot be asked either, nothing is known.
 */
async function refusal(url: string, token: string | undefined, signal: AbortSignal): Promise<ConnectionRefused | undefined> {
  const route = new URL(token === undefined ? '/' : '/metrics', url.replace(/^ws/, 'http'));
  const browser = globalThis.location?.origin;
  if (typeof fetch !== 'function' || (browser !== undefined && browser !== route.origin)) return undefined;
  try {
    const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const response = await fetch(route, { method: 'HEAD', headers, signal, cache: 'no-store', redirect: 'manual' });
    if (response.status !== 401 && response.status !== 403) return undefined;
    return new ConnectionRefused(`the server refuses this client with HTTP ${response.status}`, response.status);
  } catch {
    return undefined;
  }
}
