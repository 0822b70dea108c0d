// The scheme disk: a folder that the server of the test serves below /disk/. And a command that changes the user's settings.
const vscode = require('vscode');

exports.activate = ({ extensionUri, subscriptions }) => {
  const changed = new vscode.EventEmitter();
  const addressOf = (uri) => `http://${extensionUri.authority}/disk${uri.path.split('/').map(encodeURIComponent).join('/')}`;
  const get = async (uri, query = '') => {
    const response = await fetch(addressOf(uri) + query);
    if (!response.ok) throw vscode.FileSystemError.FileNotFound(uri);
    return response;
  };
  const provider = {
    onDidChangeFile: changed.event,
    watch: () => ({ dispose() {} }),
    stat: async (uri) => (await get(uri, '?stat')).json(),
    readDirectory: async (uri) => (await get(uri, '?list')).json(),
    readFile: async (uri) => new Uint8Array(await (await get(uri)).arrayBuffer()),
    writeFile: async (uri, body) => {
      await fetch(addressOf(uri), { method: 'PUT', body });
      changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
    },
    delete: async (uri) => {
      await fetch(addressOf(uri), { method: 'DELETE' });
      changed.fire([{ type: vscode.FileChangeType.Deleted, uri }]);
    },
    rename: async (from, to) => {
      await fetch(`${addressOf(from)}?to=${encodeURIComponent(to.path)}`, { method: 'POST' });
      changed.fire([{ type: vscode.FileChangeType.Deleted, uri: from }, { type: vscode.FileChangeType.Created, uri: to }]);
    },
    createDirectory: async (uri) => void (await fetch(`${addressOf(uri)}?folder`, { method: 'PUT' })),
  };
  subscriptions.push(vscode.workspace.registerFileSystemProvider('disk', provider));

  const set = async () => {
    const settings = JSON.parse(await vscode.window.showInputBox({ title: 'Settings', ignoreFocusOut: true }));
    for (const [name, value] of Object.entries(settings)) await vscode.workspace.getConfiguration().update(name, value, vscode.ConfigurationTarget.Global);
  };
  subscriptions.push(vscode.commands.registerCommand('test.set', set));
};
