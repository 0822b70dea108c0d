export { base as baseName, dollars, short as tokens, when } from '../../hud/src/text/format.js';

/** Formats a share from 0 to 1 in whole percent, rounded down as the server does. */
export const percent = (share: number): string => `${Math.floor(share * 100)} %`;

/** Returns the folder of a path, "" for none. */
export const folderName = (path: string): string => path.replace(/[\\/]?[^\\/]*[\\/]?$/, '');

/** Returns a text as Markdown that shows it in one line, whatever it contains. Unlike `appendText`, it can be wrapped. */
export const escaped = (text: string): string => text.replace(/\s+/g, ' ').replace(/[\\`*_{}[\]()#+\-.!|<>~&]/g, '\\$&');
