import * as vscode from 'vscode';

/**
 * Returns a text that the editor shows as it is. A notification makes links of `[text](command:name)`, and one in a title, a
 * path or an error would run any command of the editor.
 */
export const unlinked = (text: string): string => text.replaceAll('](', '] (');

/** Shows a notification, with buttons. Returns the chosen one. */
export const inform = (text: string, ...buttons: string[]): Thenable<string | undefined> => vscode.window.showInformationMessage(unlinked(text), ...buttons);

/** Shows a warning as a notification, with buttons. Returns the chosen one. */
export const warn = (text: string, ...buttons: string[]): Thenable<string | undefined> => vscode.window.showWarningMessage(unlinked(text), ...buttons);

/** Shows an error as a notification. */
export const report = (error: unknown): void => void vscode.window.showErrorMessage(unlinked(`Strata: ${error instanceof Error ? error.message : String(error)}`));

/** Asks a question in a dialog. Reports whether the user chose the button. */
export const confirmed = async (question: string, yes: string): Promise<boolean> => (await vscode.window.showWarningMessage(question, { modal: true }, yes)) === yes;
