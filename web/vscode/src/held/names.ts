/** The parts of a URI that name a file of the editor. */
export interface Address {
  readonly scheme: string;
  readonly authority: string;
  readonly path: string;
  readonly query: string;
}

/**
 * Returns the path by which the server knows a file that only the editor has, such as `/vscode-vfs/github/owner/repo` for
 * `vscode-vfs://github/owner/repo`. It is the same in each window.
 */
export function nameOf({ scheme, authority, path, query }: Address): string {
  const start = query === '' ? scheme : `${scheme}?${encodeURIComponent(query)}`;
  return '/' + [start, ...authority.split('/'), ...path.split('/')].filter((step) => step !== '').join('/');
}

/** Returns the rest of a path below a folder, without a slash at its start; undefined if it is not below it or goes up. */
export function restOf(path: string, folder: string): string | undefined {
  if (path === folder) return '';
  if (!path.startsWith(folder + '/')) return undefined;
  const rest = path.slice(folder.length + 1);
  return rest.split('/').every((step) => step !== '' && step !== '.' && step !== '..') ? rest : undefined;
}
