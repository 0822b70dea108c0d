/** Where the server's paths are in the editor. */
export interface Mapping {
  /** The start of URIs, without a slash at its end unless it is the root. */
  uri: string;
  /** The same folder on the server. */
  path: string;
}

/** Returns the mappings of the setting `strata.pathMappings`, the longest first. */
export function mappingsOf(setting: Readonly<Record<string, string>>): Mapping[] {
  return Object.entries(setting)
    .map(([uri, path]) => ({ uri: trimmed(uri), path: trimmed(path) }))
    .sort((a, b) => b.path.length - a.path.length);
}

/** Returns the URI of a path of the server, undefined if no mapping contains it. */
export function uriOf(path: string, mappings: readonly Mapping[]): string | undefined {
  for (const mapping of mappings) {
    const rest = below(slashed(path), slashed(mapping.path));
    if (rest !== undefined) return mapping.uri + rest.split('/').map(encodeURIComponent).join('/');
  }
  return undefined;
}

/** Returns the path of a URI on the server, undefined if no mapping contains it. */
export function pathOf(uri: string, mappings: readonly Mapping[]): string | undefined {
  const byURI = [...mappings].sort((a, b) => b.uri.length - a.uri.length);
  for (const mapping of byURI) {
    const rest = below(decodeURIComponent(uri), decodeURIComponent(mapping.uri));
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

const slashed = (path: string): string => path.replaceAll('\\', '/');

const trimmed = (text: string): string => (/[^/\\:][/\\]+$/.test(text) ? text.replace(/[/\\]+$/, '') : text.replace(/^(.*:)\/$/, '$1'));
