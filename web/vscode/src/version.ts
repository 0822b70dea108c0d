/** The version of the extension. */
export const VERSION = '0.1.0';
