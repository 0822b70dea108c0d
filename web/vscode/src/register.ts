import * as vscode from 'vscode';
import { report } from './notices.js';

/** Registers commands by their names without `strata.`. A failure of a command is shown to the user. */
export function registerCommands(commands: Readonly<Record<string, (...args: never[]) => unknown>>): vscode.Disposable {
  return vscode.Disposable.from(...Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(`strata.${name}`, reporting(run))));
}

/** Returns a function that shows its failure to the user. */
export function reporting<A extends unknown[]>(run: (...args: A) => unknown): (...args: A) => Promise<void> {
  return async (...args) => {
    try {
      await run(...args);
    } catch (error) {
      report(error);
    }
  };
}
