/** A path: no blanks, and a dot or a slash in it. Its last part has an extension, or is a usual name without one. */
const PATH = /^(?!.*[?*<>|"])(?!\w+:\/\/)[^\s`]*(?:\.[A-Za-z0-9_]{1,12}|\/[\w.-]+|^Makefile|^Dockerfile)$/;

/** Maximum characters of a path. */
const MAX_PATH = 300;

const isPath = (text: string): boolean => text.length <= MAX_PATH && PATH.test(text);

/**
 * Returns the path that the opening line of a block of code names, undefined if it names none: ```` ```go main.go ````,
 * ```` ```go:main.go ```` and ```` ```go title="main.go" ````.
 */
export function pathInHead(info: string): string | undefined {
  const attribute = /(?:^|[\s{])(?:title|file|filename|path|name)\s*=\s*(?:"([^"]+)"|'([^']+)'|([^\s}]+))/i.exec(info);
  const named = attribute?.[1] ?? attribute?.[2] ?? attribute?.[3];
  if (named !== undefined) return isPath(named) ? named : undefined;
  const [first = '', ...rest] = info.split(/\s+/);
  const behind = /^[\w+#-]+:(?!\/\/|\\)(.+)$/.exec(first)?.[1];
  return [behind, ...rest, first].find((word) => word !== undefined && isPath(word));
}

/** Returns the only path in the line before a block of code, undefined if it has none or several. */
export function pathInLine(line: string): string | undefined {
  const bare = line.replace(/^[\s#>*_-]+|[\s*_:.]+$/g, '');
  if (isPath(bare.replaceAll('`', ''))) return bare.replaceAll('`', '');
  const marked = [...line.matchAll(/`([^`]+)`|\*\*([^*]+)\*\*/g)].map((match) => (match[1] ?? match[2] ?? '').replace(/:$/, ''));
  const paths = [...new Set(marked.filter(isPath))];
  return paths.length === 1 ? paths[0] : undefined;
}
