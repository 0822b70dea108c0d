/** Variables by which the editor configures its own processes. Its programs would behave as parts of the editor with them. */
const OF_EDITOR = /^(?:ELECTRON|VSCODE)_/;

/** Variables of the server, which commands do not get. */
const OF_SERVER = /^STRATA_/;

/** Returns the environment for a server: that of this process without the editor's own variables. */
export function serverEnvironment(): Record<string, string | undefined> {
  return without(OF_EDITOR);
}

/** Returns the environment for a command of the model. */
export function commandEnvironment(): Record<string, string | undefined> {
  return without(OF_EDITOR, OF_SERVER);
}

function without(...names: RegExp[]): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !names.some((pattern) => pattern.test(name))));
}
