import { constants, promises as fs, type Stats } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import type { Endpoint } from './api.js';

/** The content of `server.json`. */
export interface FoundServer extends Endpoint {
  token: string;
  pid: number;
  /** The path of the database. */
  database: string;
  /** The version of the server. */
  version?: string;
}

/** No trusted server was found; the message says why. */
export class ServerNotFound extends Error {
  override name = 'ServerNotFound';
}

/** The maximum size of `server.json`, in bytes. */
const MAX_FILE = 64 << 10;

/** Environment variables. */
export type Environment = Record<string, string | undefined>;

/**
 * Finds the running server of this user through `server.json` in `$XDG_RUNTIME_DIR/strata`, else in the state folder. The
 * file must be private and owned by this user, and its server must be running; files that other programs may have written
 * are ignored. Rejects with `ServerNotFound`.
 */
export async function findServer(environment: Environment = process.env): Promise<FoundServer> {
  const problems: string[] = [];
  for (const file of await candidates(environment)) {
    try {
      const server = parse(file, await readPrivate(file));
      await assertRunning(file, server);
      return server;
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new ServerNotFound(`no running server was found: ${problems.join('; ')}`);
}

/** Returns the possible paths of the file, the most likely one first. */
async function candidates(environment: Environment): Promise<string[]> {
  const files: string[] = [];
  const runtime = environment.XDG_RUNTIME_DIR;
  if (runtime !== undefined && path.isAbsolute(runtime) && (await isFolder(runtime))) {
    files.push(path.join(runtime, 'strata', 'server.json'));
  }
  files.push(path.join(stateFolder(environment), 'server.json'));
  return files;
}

async function isFolder(name: string): Promise<boolean> {
  try {
    return (await fs.stat(name)).isDirectory();
  } catch {
    return false;
  }
}

/** Returns the server's folder for persistent state. */
function stateFolder(environment: Environment): string {
  const xdg = environment.XDG_STATE_HOME;
  if (xdg !== undefined && path.isAbsolute(xdg)) return path.join(xdg, 'strata');
  switch (process.platform) {
    case 'win32':
      return path.join(environment.LOCALAPPDATA ?? path.join(homedir(), 'AppData', 'Local'), 'strata');
    case 'darwin':
      return path.join(environment.HOME ?? homedir(), 'Library', 'Application Support', 'strata');
    default:
      return path.join(environment.HOME ?? homedir(), '.local', 'state', 'strata');
  }
}

/** Reads a file that only this user can access. It checks the open file, so that the file cannot be replaced in between. */
async function readPrivate(name: string): Promise<string> {
  assertSafe(path.dirname(name), await fs.stat(path.dirname(name)), 0o022);
  const noWaiting = process.platform === 'win32' ? 0 : constants.O_NONBLOCK;
  const file = await fs.open(name, constants.O_RDONLY | noWaiting);
  try {
    const info = await file.stat();
    if (!info.isFile()) throw new Error(`${name} is not a regular file`);
    assertSafe(name, info, 0o077);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_FILE + 1), 0, MAX_FILE + 1, 0);
    if (bytesRead > MAX_FILE) throw new Error(`${name} is larger than ${MAX_FILE} bytes`);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Throws unless the file is safe. A folder may belong to root, and with the sticky bit others cannot replace our files. */
function assertSafe(name: string, info: Stats, forbidden: number): void {
  const user = process.geteuid?.();
  if (user === undefined) return; // Windows: the user's own folders are private
  if (info.uid !== user && !(info.isDirectory() && info.uid === 0)) throw new Error(`${name} belongs to user ${info.uid}`);
  const sticky = info.isDirectory() && (info.mode & 0o1000) !== 0;
  if ((info.mode & forbidden) !== 0 && !sticky) {
    throw new Error(`${name} is accessible to other users: its mode is ${(info.mode & 0o777).toString(8)}`);
  }
}

/** Parses the content. Errors never contain the token. */
function parse(name: string, text: string): FoundServer {
  let content: Partial<FoundServer>;
  try {
    content = JSON.parse(text);
  } catch {
    throw new Error(`${name} is not valid JSON`);
  }
  const { url, token, pid, database, version } = content ?? {};
  if (typeof url !== 'string' || !isServerURL(url)) throw new Error(`${name}: invalid url`);
  if (typeof token !== 'string' || !/^[\w-]{43}$|^[0-9a-fA-F]{64}$/.test(token)) throw new Error(`${name}: missing or invalid token`);
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0) throw new Error(`${name}: missing or invalid pid`);
  if (typeof database !== 'string' || !path.isAbsolute(database)) throw new Error(`${name}: database is not an absolute path`);
  return { url, token, pid, database, ...(typeof version === 'string' ? { version } : {}) };
}

function isServerURL(text: string): boolean {
  try {
    const url = new URL(text);
    const isSocket = ['http:', 'https:', 'ws:', 'wss:'].includes(url.protocol);
    return isSocket && url.host !== '' && url.username === '' && url.password === '' && url.search === '';
  } catch {
    return false;
  }
}

/**
 * Throws unless the server is running. The process id may have been reused, and the token must not be sent to another
 * program that listens on the port. Therefore the process must hold the lock of the database: the lock file must contain
 * its id, and on Linux, which lists locks, the lock must be listed.
 */
async function assertRunning(name: string, { pid, database }: FoundServer): Promise<void> {
  const stale = new Error(`${name} is stale: process ${pid} does not have ${database} open`);
  if (!isAlive(pid)) throw stale;
  const lock = `${await realPath(database)}.lock`;
  const holder = await fs.readFile(lock, 'utf8').catch(() => '');
  if (Number(holder.trim()) !== pid) throw stale;
  if (process.platform !== 'linux') return;
  const locks = await fs.readFile('/proc/locks', 'utf8').catch(() => null);
  if (locks === null) return;
  const { ino } = await fs.stat(lock);
  const held = new RegExp(`FLOCK +ADVISORY +WRITE +${pid} +\\w+:\\w+:${ino} `);
  if (!held.test(locks)) throw stale;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function realPath(name: string): Promise<string> {
  return fs.realpath(name).catch(() => name);
}
