import type { Endpoint, Socket, SocketConstructor } from './api.js';
import { ConnectionRefused, ServerUnreachable, type RefusalReason } from './errors.js';

/** The optional details of a socket's error event. */
interface ErrorEventLike {
  message?: string;
  error?: unknown;
  /** The HTTP status with which the upgrade was refused. */
  status?: number;
}

/** The used part of `node-socket.ts`. */
interface NodeModule {
  NodeSocket: new (url: string, protocols: string[], headers: Record<string, string>) => Socket;
}

/** Returns the WebSocket's URL for the URL of a server. */
export function socketURL(server: string): string {
  let url: URL;
  try {
    url = new URL(server);
  } catch {
    throw new ConnectionRefused('the server URL is invalid', 'address');
  }
  if (url.protocol === 'http:') url.protocol = 'ws:';
  if (url.protocol === 'https:') url.protocol = 'wss:';
  if (url.protocol !== 'ws:' && url.protocol !== 'wss:') {
    throw new ConnectionRefused('the scheme of the server URL must be http, https, ws or wss', 'address');
  }
  if (url.pathname === '' || url.pathname === '/') url.pathname = '/acp';
  url.search = '';
  url.hash = '';
  return url.href;
}

/** Returns the subprotocols to offer. They include the token or the secret of the page, as browsers cannot set headers. */
function protocols({ token, page }: Endpoint): string[] {
  return ['acp', ...(token === undefined ? [] : [`bearer.${token}`]), ...(page === undefined ? [] : [`page.${page}`])];
}

/**
 * Opens a socket. Rejects with `ConnectionRefused` if the server refuses permanently, with `ServerUnreachable` if it cannot
 * be reached or refuses temporarily, and with the signal's reason.
 */
export async function openSocket(endpoint: Endpoint, given: SocketConstructor | undefined, signal: AbortSignal): Promise<Socket> {
  const url = socketURL(endpoint.url);
  const attempt = async () => {
    const socket = await makeSocket(url, endpoint, given);
    await opened(socket, signal);
    return socket;
  };
  try {
    return await attempt();
  } catch (error) {
    if (error instanceof ConnectionRefused) throw error;
    const origin = foreignOrigin(url);
    if (origin === undefined) throw (await refusal(url, endpoint, signal)) ?? error;
    if (!(await answers(url, signal))) throw error;
    return await again(attempt, url, origin, signal);
  }
}

/**
 * Opens a socket once more after the server has answered: it may have started between the first attempt and the answer.
 * If it refuses again, that is permanent.
 */
async function again(attempt: () => Promise<Socket>, url: string, origin: string, signal: AbortSignal): Promise<Socket> {
  try {
    return await attempt();
  } catch (error) {
    if (error instanceof ConnectionRefused || !(await answers(url, signal))) throw error;
    throw new ConnectionRefused(
      `refused: origin or token. The server at ${new URL(url).host} runs, but refuses this page: ` +
        `add its origin ${origin} to \`origins\` in Strata's configuration, or check the token`,
      'origin_or_token',
    );
  }
}

async function makeSocket(url: string, endpoint: Endpoint, given: SocketConstructor | undefined): Promise<Socket> {
  const { token } = endpoint;
  const constructor = given ?? (globalThis.WebSocket as SocketConstructor | undefined);
  if (constructor) return new constructor(url, protocols(endpoint));
  // The cast allows programs to be type-checked without Node's types.
  const node = (await import('./node-socket.js' as string)) as NodeModule;
  return new node.NodeSocket(url, ['acp'], token === undefined ? {} : { Authorization: `Bearer ${token}` });
}

/** Waits until the socket is open. On failure it closes the socket. */
function opened(socket: Socket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: unknown) => {
      signal.removeEventListener('abort', abort);
      socket.onopen = socket.onclose = null;
      // Some sockets emit an error after the close, and throw it if there is no handler.
      socket.onerror = () => {};
      if (error === undefined) return resolve();
      socket.close();
      reject(error);
    };
    const abort = () => settle(signal.reason);
    socket.onopen = () => settle();
    socket.onerror = (event: ErrorEventLike) => settle(describe(event)); // some sockets emit no close afterwards
    socket.onclose = () => settle(new ServerUnreachable('the server cannot be reached'));
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
  });
}

/** The statuses of permanent refusals. */
const FINAL = new Set([400, 401, 403, 404, 405, 426]);

function describe(event: ErrorEventLike | undefined): Error {
  const message = event?.message || 'the server cannot be reached';
  const status = event?.status ?? Number(/Unexpected server response: (\d{3})$/.exec(message)?.[1]);
  if (FINAL.has(status)) return new ConnectionRefused(message, reasonOf(status), status);
  return new ServerUnreachable(message);
}

function reasonOf(status: number): RefusalReason {
  return status === 401 ? 'token' : status === 403 ? 'origin' : 'address';
}

/** Returns the origin of this page if it is not that of the server: such a page cannot read the server's responses. */
function foreignOrigin(url: string): string | undefined {
  const own = globalThis.location?.origin;
  return own === undefined || own === httpURL('/', url).origin ? undefined : own;
}

function httpURL(route: string, url: string): URL {
  return new URL(route, url.replace(/^ws/, 'http'));
}

/** Returns whether the server responds to a page of another origin, which cannot read the response, until the signal is aborted. */
async function answers(url: string, signal: AbortSignal): Promise<boolean> {
  if (typeof fetch !== 'function') return false;
  try {
    await fetch(httpURL('/healthz', url), { mode: 'no-cors', cache: 'no-store', credentials: 'omit', signal });
    return true;
  } catch {
    return false;
  }
}

/**
 * Finds out why a socket did not open. Native WebSockets do not report it, but a route that requires the same token or
 * secret does. Returns undefined if that is not available either.
 */
async function refusal(url: string, { token, page }: Endpoint, signal: AbortSignal): Promise<ConnectionRefused | undefined> {
  if (typeof fetch !== 'function') return undefined;
  const route = httpURL(page !== undefined ? '/page' : token === undefined ? '/' : '/metrics', url);
  try {
    const headers: Record<string, string> = page !== undefined ? { 'Strata-Page': page } : token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const method = page === undefined ? 'HEAD' : 'GET';
    const response = await fetch(route, { method, headers, signal, cache: 'no-store', redirect: 'manual' });
    if (response.status !== 401 && response.status !== 403) return undefined;
    const reason = page === undefined ? '' : (await response.text()).trim();
    return new ConnectionRefused(reason || `the server refused this client with HTTP ${response.status}`, reasonOf(response.status), response.status);
  } catch {
    return undefined;
  }
}
