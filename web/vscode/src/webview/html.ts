import * as vscode from 'vscode';

/** The folder of the built pages in the extension. */
export const VIEW_FOLDER = ['dist', 'view'];

/** A page of the extension: the chat of a side bar, or the whole HUD. */
export type PageName = 'chat' | 'hud';

/**
 * Returns the document of a page, which begins at an address of the HUD. It loads only the extension's own files, and has no
 * connection: the extension host has it. `worker-src blob:` is for the worker that colors code, which a page of another
 * origin can start from a blob only.
 */
export function pageDocument(webview: vscode.Webview, extension: vscode.Uri, name: PageName, address: string): string {
  const file = (of: string): string => webview.asWebviewUri(vscode.Uri.joinPath(extension, ...VIEW_FOLDER, of)).toString();
  const own = webview.cspSource;
  const policy = `default-src 'none'; script-src ${own}; style-src ${own}; font-src ${own}; img-src ${own} data: blob:; connect-src ${own}; worker-src blob:`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Strata</title>
<link rel="stylesheet" href="${file(`${name}.css`)}">
<script type="module" src="${file(`${name}.js`)}" data-worker="${file('code.js')}" data-address="${escaped(address)}"></script>
</head>
<body>
<div id="hud"></div>
</body>
</html>`;
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
