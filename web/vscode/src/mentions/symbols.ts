import * as vscode from 'vscode';
import type { Mention } from '../channel/messages.js';
import type { Files } from '../workspace/files.js';
import { linkTo } from './links.js';

/** Maximum number of symbols that are offered. */
const MAX_SYMBOLS = 8;

/** Maximum number of a provider's symbols that are looked at. */
const MAX_LOOKED_AT = 5000;

/** Maximum characters of a symbol's name. */
const MAX_NAME = 100;

/** Time that the providers of symbols have, in milliseconds. */
const PATIENCE = 1500;

/** A symbol of any provider. */
interface Found {
  name: string;
  kind: vscode.SymbolKind;
  uri: vscode.Uri;
  range: vscode.Range;
}

/** Returns the symbols whose names contain a query: those of the active editor first, then those of the workspace. */
export async function symbolMentions(files: Files, query: string): Promise<Mention[]> {
  if (query === '') return [];
  const here = vscode.window.activeTextEditor?.document.uri;
  const found = await Promise.all([here ? within(inDocument(here)) : [], within(inWorkspace(query))]);
  const mentions = new Map<string, Mention>();
  for (const symbol of found.flat().filter(({ name }) => name.toLowerCase().includes(query.toLowerCase())).sort(byName(query))) {
    const link = linkTo(files, symbol.uri, { first: symbol.range.start.line + 1, last: symbol.range.end.line + 1 });
    if (!link || mentions.has(link.uri)) continue;
    const label = symbol.name.slice(0, MAX_NAME).replace(/[\s@]+/g, '_');
    const kind = vscode.SymbolKind[symbol.kind]?.toLowerCase() ?? '';
    mentions.set(link.uri, { label, detail: `${kind} ${link.name}`.trim(), attachment: { name: link.name, block: { type: 'resource_link', ...link } } });
    if (mentions.size >= MAX_SYMBOLS) break;
  }
  return [...mentions.values()];
}

/** Orders symbols whose names begin with a query before the others. */
const byName = (query: string) => (a: Found, b: Found): number => Number(begins(b, query)) - Number(begins(a, query));

const begins = ({ name }: Found, query: string): boolean => name.toLowerCase().startsWith(query.toLowerCase());

async function inDocument(uri: vscode.Uri): Promise<Found[]> {
  const symbols = (await vscode.commands.executeCommand<(vscode.DocumentSymbol | vscode.SymbolInformation)[] | undefined>('vscode.executeDocumentSymbolProvider', uri)) ?? [];
  const found: Found[] = [];
  const waiting = [...symbols].reverse();
  for (let symbol = waiting.pop(); symbol && found.length < MAX_LOOKED_AT; symbol = waiting.pop()) {
    if ('location' in symbol) found.push(ofInformation(symbol));
    else {
      found.push({ name: symbol.name, kind: symbol.kind, uri, range: symbol.range });
      waiting.push(...symbol.children);
    }
  }
  return found;
}

async function inWorkspace(query: string): Promise<Found[]> {
  const symbols = (await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>('vscode.executeWorkspaceSymbolProvider', query)) ?? [];
  return symbols.slice(0, MAX_LOOKED_AT).map(ofInformation);
}

const ofInformation = ({ name, kind, location }: vscode.SymbolInformation): Found => ({ name, kind, uri: location.uri, range: location.range });

/** Returns what is found in time, nothing after an error. */
function within(found: Promise<Found[]>): Promise<Found[]> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve([]), PATIENCE);
    found.then(resolve, () => resolve([])).finally(() => clearTimeout(timer));
  });
}
