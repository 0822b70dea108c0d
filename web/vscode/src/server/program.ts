import path from 'node:path';

/** The program if the setting names none. */
const DEFAULT = 'strata';

/**
 * Returns the program of the setting `strata.path`: an absolute path, one below the home folder (`~/`), or a name on the
 * search path; undefined for a relative path, which would depend on the folder of the editor's process.
 */
export function programOf(setting: string, home: string): string | undefined {
  const text = setting.trim();
  if (text === '') return DEFAULT;
  if (text.includes('\0')) return undefined;
  if (/^~[/\\]/.test(text)) return path.join(home, text.slice(2));
  return path.isAbsolute(text) || !/[/\\]/.test(text) ? text : undefined;
}
