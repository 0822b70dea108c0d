import * as vscode from 'vscode';
import { Patterns } from './ignore.js';

/** The limits of a list. The server uses no more files, and waits 10 seconds for a list. */
const MAX_FILES = 20_000;
const MAX_FOLDERS = 10_000;
const MAX_MS = 8_000;
/** The number of folders that are read concurrently. */
const CONCURRENT = 8;
/** The maximum size of a `.gitignore`, in bytes. */
const MAX_IGNORE = 256 << 10;

/** The files of a folder, by their paths relative to it. */
export interface Walked {
  paths: string[];
  isComplete: boolean;
}

interface Folder {
  uri: vscode.Uri;
  /** Relative to the root, with a slash at its end; "" for the root. */
  path: string;
  /** The patterns of the folders from the root on, each with the path of its folder. */
  patterns: { base: string; patterns: Patterns }[];
}

/** Lists the files of a folder, without those that `files.exclude` or a `.gitignore` excludes. It does not follow links to folders. */
export async function walk(root: vscode.Uri): Promise<Walked> {
  const walked: Walked = { paths: [], isComplete: true };
  const queue: Folder[] = [{ uri: root, path: '', patterns: [{ base: '', patterns: excludedIn(root) }] }];
  const end = Date.now() + MAX_MS;
  for (let read = 0; queue.length > 0; ) {
    if (walked.paths.length > MAX_FILES || read >= MAX_FOLDERS || Date.now() > end) {
      walked.isComplete = false;
      break;
    }
    const some = queue.splice(0, CONCURRENT);
    read += some.length;
    for (const { files, folders, isComplete } of await Promise.all(some.map(look))) {
      walked.paths.push(...files);
      queue.push(...folders);
      walked.isComplete &&= isComplete;
    }
  }
  return { paths: walked.paths.slice(0, MAX_FILES).sort(), isComplete: walked.isComplete && walked.paths.length <= MAX_FILES };
}

/** Returns the globs of the setting `files.exclude`, without those that depend on other files. */
function excludedIn(root: vscode.Uri): Patterns {
  const setting = vscode.workspace.getConfiguration('files', root).get<Record<string, unknown>>('exclude', {});
  return Patterns.ofGlobs(Object.keys(setting).filter((glob) => setting[glob] === true));
}

/** Reads one folder. A folder that cannot be read makes the list incomplete. */
async function look(folder: Folder): Promise<{ files: string[]; folders: Folder[]; isComplete: boolean }> {
  let entries: [string, vscode.FileType][];
  try {
    entries = await vscode.workspace.fs.readDirectory(folder.uri);
  } catch {
    return { files: [], folders: [], isComplete: false };
  }
  const patterns = [...folder.patterns];
  if (entries.some(([name]) => name === '.gitignore')) patterns.push({ base: folder.path, patterns: await ignoredIn(folder.uri) });
  const kept = entries.filter(([name, type]) => !isExcluded(patterns, folder.path + name, (type & vscode.FileType.Directory) !== 0));
  return {
    files: kept.filter(([, type]) => (type & vscode.FileType.File) !== 0).map(([name]) => folder.path + name),
    folders: kept.filter(([name, type]) => type === vscode.FileType.Directory && name !== '.git')
      .map(([name]) => ({ uri: vscode.Uri.joinPath(folder.uri, name), path: `${folder.path}${name}/`, patterns })),
    isComplete: true,
  };
}

async function ignoredIn(folder: vscode.Uri): Promise<Patterns> {
  try {
    const bytes = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(folder, '.gitignore'));
    return Patterns.ofGit(new TextDecoder().decode(bytes.subarray(0, MAX_IGNORE)));
  } catch {
    return Patterns.ofGit('');
  }
}

/** The patterns of the innermost folder count first. */
function isExcluded(all: Folder['patterns'], path: string, isFolder: boolean): boolean {
  for (const { base, patterns } of [...all].reverse()) {
    const excluded = patterns.excludes(path.slice(base.length), isFolder);
    if (excluded !== undefined) return excluded;
  }
  return false;
}
