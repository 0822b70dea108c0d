// The scheme disk: a folder that the server of the test serves below /disk/. And commands that change the user's settings, and remove
// what a test has left.
const vscode = require('vscode');

exports.activate = ({ extensionUri, globalState, subscriptions }) => {
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

  const change = async (settings) => {
    const configuration = vscode.workspace.getConfiguration();
    for (const [name, value] of Object.entries(settings)) await configuration.update(name, value, vscode.ConfigurationTarget.Global);
  };
  const set = async (settings) => {
    await globalState.update('set', [...new Set([...globalState.get('set', []), ...Object.keys(settings)])]);
    await change(settings);
  };
  const clear = async () => {
    await change({ 'strata.server.url': '' }); // before the other settings, which may be refused
    await vscode.commands.executeCommand('strata.openSession', null);
    const names = globalState.get('set', []).filter((name) => name !== 'strata.server.url');
    await change(Object.fromEntries(names.map((name) => [name, undefined])));
    for (let i = 0; i < 100 && vscode.window.tabGroups.all.some(({ tabs }) => tabs.length > 0); i++) await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
  };
  subscriptions.push(vscode.commands.registerCommand('test.set', set), vscode.commands.registerCommand('test.clear', clear));
};
