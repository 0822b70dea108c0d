/** Abbreviates a number of tokens: 950, 1.2K, 128K, 1.3M. */
export function tokens(n: number): string {
  if (n < 1000) return String(Math.round(n));
  return n < 999_500 ? `${short(n / 1000)}K` : `${short(n / 1_000_000)}M`;
}

const short = (n: number): string => (n < 10 ? n.toFixed(1).replace(/\.0$/, '') : String(Math.round(n)));

/** Formats US dollars: two decimals from a dollar on, four below. */
export const dollars = (n: number): string => `$${n === 0 ? '0' : n.toFixed(n >= 1 ? 2 : 4)}`;

/** Formats a share from 0 to 1 in whole percent, rounded down as the server does. */
export const percent = (share: number): string => `${Math.floor(share * 100)} %`;

/** Returns the last name of a path. */
export const baseName = (path: string): string => path.split(/[\\/]/).findLast((part) => part !== '') ?? path;

/** Returns the folder of a path, "" for none. */
export const folderName = (path: string): string => path.replace(/[\\/]?[^\\/]*[\\/]?$/, '');

/** Returns a text as Markdown that shows it in one line, whatever it contains. Unlike `appendText`, it can be wrapped. */
export const escaped = (text: string): string => text.replace(/\s+/g, ' ').replace(/[\\`*_{}[\]()#+\-.!|<>~&]/g, '\\$&');
