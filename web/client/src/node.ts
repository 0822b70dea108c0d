import { constants, promises as fs, type Stats } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import type { Endpoint } from './api.js';

/** `server.json` as a server writes it, in the order of its fields. */
export interface FoundServer extends Endpoint {
  token: string;
  pid: number;
  /** Path. */
  database: string;
  /** Of the server. */
  version?: string;
}

/** No server that can be trusted was found; the message says why. */
export class ServerNotFound extends Error {
  override name = 'ServerNotFound';
}

/** The largest `server.json`, in bytes. */
const MAX_FILE = 64 << 10;

type Environment = Record<string, string | undefined>;

/**
 * Finds the running server of this user: `server.json` in `$XDG_RUNTIME_DIR/strata`, else in the state folder. The file must be this
 * user's and private, and the server that it names must run: what another program may have put there is not believed.
 * Rejects with `ServerNotFound`.
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

/** Where the file may be, the most likely place first. */
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

/** The folder for what the server remembers between starts. */
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

/** Reads a file that only this user can read and write. The open file is examined, so that it cannot be exchanged in between. */
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

/** A folder may be root's; in one with the sticky bit others can add files but not replace ours. */
function assertSafe(name: string, info: Stats, forbidden: number): void {
  const user = process.geteuid?.();
  if (user === undefined) return; // Windows: the user's own folders are private
  if (info.uid !== user && !(info.isDirectory() && info.uid === 0)) throw new Error(`${name} belongs to user ${info.uid}`);
  const sticky = info.isDirectory() && (info.mode & 0o1000) !== 0;
  if ((info.mode & forbidden) !== 0 && !sticky) {
    throw new Error(`${name} is open to other users: its mode is ${(info.mode & 0o777).toString(8)}`);
  }
}

/** Reads the content; the token is in no error. */
function parse(name: string, text: string): FoundServer {
  let content: Partial<FoundServer>;
  try {
    content = JSON.parse(text);
  } catch {
    throw new Error(`${name} is not the JSON that a server writes`);
  }
  const { url, token, pid, database, version } = content ?? {};
  if (typeof url !== 'string' || !isServerURL(url)) throw new Error(`${name}: its url is not an address of a server`);
  if (typeof token !== 'string' || !/^[\w-]{43}$|^[0-9a-fA-F]{64}$/.test(token)) throw new Error(`${name}: it has no token`);
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0) throw new Error(`${name}: it has no pid`);
  if (typeof database !== 'string' || !path.isAbsolute(database)) throw new Error(`${name}: its database is not an absolute path`);
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
 * A process id alone may be another program's by now, and the token must not be sent to whatever listens on that port
 * today. So the process must hold the lock on the database: its lock file names it, and where the system lists its locks
 * (Linux) that one is among them.
 */
async function assertRunning(name: string, { pid, database }: FoundServer): Promise<void> {
  const stale = new Error(`${name} is left over: process ${pid} does not have ${database} open`);
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
