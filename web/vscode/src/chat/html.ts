import * as vscode from 'vscode';

/** The folder of the built view in the extension. */
export const VIEW_FOLDER = ['dist', 'view'];

/**
 * Returns the page of the chat. It loads only the extension's own files, and has no connection: the extension host has it.
 * `worker-src blob:` is for the worker that colors code, which a page of another origin can start from a blob only.
 */
export function chatPage(webview: vscode.Webview, extension: vscode.Uri, language: string): string {
  const file = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(extension, ...VIEW_FOLDER, name)).toString();
  const own = webview.cspSource;
  const policy = `default-src 'none'; script-src ${own}; style-src ${own}; font-src ${own}; img-src ${own} data: blob:; connect-src ${own}; worker-src blob:`;
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${file('chat.css')}">
<script type="module" src="${file('chat.js')}" data-worker="${file('code.js')}"></script>
</head>
<body>
<div id="hud"></div>
</body>
</html>`;
}
