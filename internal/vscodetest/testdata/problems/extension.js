// A language service for all files: a line with "wrong" is a problem, and "def NAME" begins a symbol, in files "def.txt" of the
// workspace too.
const vscode = require('vscode');

exports.activate = ({ subscriptions }) => {
  const problems = vscode.languages.createDiagnosticCollection('checker');
  const check = (document) => {
    if (document.uri.scheme !== 'disk') return;
    const lines = document.getText().split('\n');
    problems.set(document.uri, lines.flatMap((line, i) => {
      const at = line.indexOf('wrong');
      if (at < 0) return [];
      const problem = new vscode.Diagnostic(new vscode.Range(i, at, i, at + 5), `"wrong" is not right`, vscode.DiagnosticSeverity.Error);
      problem.source = 'checker';
      problem.code = 7;
      return [problem];
    }));
  };
  vscode.workspace.textDocuments.forEach(check);

  const symbolsOf = (text) => text.split('\n').flatMap((line, i) => (line.startsWith('def ') ? [{ name: line.slice(4), range: new vscode.Range(i, 0, i + 1, line.length) }] : []));
  const inDocument = {
    provideDocumentSymbols: (document) =>
      symbolsOf(document.getText()).map(({ name, range }) => new vscode.DocumentSymbol(name, '', vscode.SymbolKind.Function, range, new vscode.Range(range.start, range.start))),
  };
  const inWorkspace = {
    provideWorkspaceSymbols: async () => {
      const uri = vscode.Uri.from({ scheme: 'disk', path: '/def.txt' });
      const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
      return symbolsOf(text).map(({ name, range }) => new vscode.SymbolInformation(name, vscode.SymbolKind.Class, '', new vscode.Location(uri, range)));
    },
  };
  subscriptions.push(
    problems,
    vscode.workspace.onDidOpenTextDocument(check),
    vscode.workspace.onDidChangeTextDocument(({ document }) => check(document)),
    vscode.languages.registerDocumentSymbolProvider('*', inDocument),
    vscode.languages.registerWorkspaceSymbolProvider(inWorkspace),
  );
};
