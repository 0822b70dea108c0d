/** Where the server's paths are in the editor. */
export interface Mapping {
  /** The start of URIs, without a slash at its end unless it is the root. */
  uri: string;
  /** The same folder on the server. */
  path: string;
}

/** Returns the mappings of the setting `strata.pathMappings` that are valid, the longest first. */
export function mappingsOf(setting: Readonly<Record<string, unknown>>): Mapping[] {
  return Object.entries(setting)
    .filter(isMapping)
    .map(([uri, path]) => ({ uri: trimmed(uri), path: trimmed(path) }))
    .sort((a, b) => b.path.length - a.path.length);
}

/** Returns the URIs of the mappings that are not valid: each needs a scheme, neither a query nor a fragment, and an absolute path. */
export function invalidMappings(setting: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(setting).flatMap((entry) => (isMapping(entry) ? [] : [entry[0]]));
}

function isMapping(entry: [string, unknown]): entry is [string, string] {
  const [uri, path] = entry;
  return /^[a-z][a-z\d+.-]*:[^\s?#]*$/i.test(uri) && isWellFormed(uri) && typeof path === 'string' && /^(?:\/|[a-z]:[/\\]|\\\\)/i.test(path);
}

function isWellFormed(uri: string): boolean {
  try {
    decodeURIComponent(uri);
    return true;
  } catch {
    return false;
  }
}

/** Returns the URI of a path of the server, undefined if no mapping contains it. */
export function uriOf(path: string, mappings: readonly Mapping[]): string | undefined {
  for (const mapping of mappings) {
    const rest = below(withDrive(slashed(path)), withDrive(slashed(mapping.path)));
    if (rest !== undefined) return mapping.uri + rest.split('/').map(encodeURIComponent).join('/');
  }
  return undefined;
}

/** Returns the path of a URI on the server, undefined if no mapping contains it. */
export function pathOf(uri: string, mappings: readonly Mapping[]): string | undefined {
  const byURI = [...mappings].sort((a, b) => b.uri.length - a.uri.length);
  for (const mapping of byURI) {
    const rest = below(withDrive(decodeURIComponent(uri)), withDrive(decodeURIComponent(mapping.uri)));
    if (rest === undefined) continue;
    if (rest === '/' || rest === '') return mapping.path;
    const isWindows = /^[a-z]:|^\\\\/i.test(mapping.path);
    return mapping.path + (isWindows ? rest.replaceAll('/', '\\') : rest);
  }
  return undefined;
}

/** Returns the rest of a path below a folder, with a slash at its start or empty; undefined if it is not below it. */
function below(path: string, folder: string): string | undefined {
  if (path === folder) return '';
  const base = folder.endsWith('/') ? folder.slice(0, -1) : folder;
  return path.startsWith(base + '/') ? path.slice(base.length) : undefined;
}

/** Returns a path, or a URI of a file, with the letter of its drive in lower case, as the editor writes it. */
const withDrive = (text: string): string => text.replace(/^(?:file:\/{3})?[A-Z]:(?=\/|$)/, (start) => start.toLowerCase());

const slashed = (path: string): string => path.replaceAll('\\', '/');

const trimmed = (text: string): string => (/[^/\\:][/\\]+$/.test(text) ? text.replace(/[/\\]+$/, '') : text.replace(/^(.*:)\/$/, '$1'));
