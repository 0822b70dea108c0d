/** Where the server's paths are in the editor. */
export interface Mapping {
  /** The start of URIs, without a slash at its end. */
  uri: string;
  /** The same folder on the server. */
  path: string;
}

/** Returns the mappings of the setting `strata.pathMappings` that are valid, the longest first. */
export function mappingsOf(setting: Readonly<Record<string, unknown>>): Mapping[] {
  return Object.entries(setting)
    .filter(isMapping)
    .map(([uri, path]) => ({ uri: uri.replace(/\/$/, ''), path: trimmed(path) }))
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
    const rest = below(withDrive(slashed(path)), withDrive(slashed(mapping.path)).replace(/\/$/, ''));
    if (rest === undefined) continue;
    return mapping.uri + (rest === '' && isRoot(mapping.uri) ? '/' : rest.split('/').map(encodeURIComponent).join('/'));
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
    return mapping.path.replace(/[/\\]$/, '') + (isWindows ? rest.replaceAll('/', '\\') : rest);
  }
  return undefined;
}

/** Returns the rest of a path below a folder without a slash at its end: with a slash at its start, or empty; undefined if it is not below it. */
function below(path: string, folder: string): string | undefined {
  return path === folder || path.startsWith(folder + '/') ? path.slice(folder.length) : undefined;
}

/** Returns a path, or a URI of a file, with the letter of its drive in lower case, as the editor writes it. */
const withDrive = (text: string): string => text.replace(/^(?:file:\/{3})?[A-Z]:(?=\/|$)/, (start) => start.toLowerCase());

const slashed = (path: string): string => path.replaceAll('\\', '/');

/** Reports whether a URI has no path, only a scheme and possibly an authority. */
const isRoot = (uri: string): boolean => /^[^/]*:(?:\/\/[^/]*)?$/.test(uri);

/** Returns a path without slashes at its end, unless it is a root. */
const trimmed = (path: string): string => (/[^/\\:][/\\]+$/.test(path) ? path.replace(/[/\\]+$/, '') : path);
