/** The maximum number of patterns of a file, and of the characters of a pattern. Further ones are not used. */
const MAX_PATTERNS = 2_000;
const MAX_CHARS = 1_000;

/** A character of a name in a pattern: itself, any, or one of a class; `*` stands for any number of characters. */
type Part = '*' | { matches: (char: string) => boolean };

interface Rule {
  /** The steps of the path; `**` stands for any number of steps. */
  steps: ('**' | Part[])[];
  isExclusion: boolean;
  onlyFolders: boolean;
}

/** The patterns of one `.gitignore`, or of the setting `files.exclude`. */
export class Patterns {
  readonly #rules: Rule[];

  private constructor(rules: Rule[]) {
    this.#rules = rules;
  }

  /** Reads a text in the format of `.gitignore`. */
  static ofGit(text: string): Patterns {
    return new Patterns(text.split(/\r?\n/, MAX_PATTERNS).flatMap(gitRule));
  }

  /** Reads glob patterns of the editor, whose alternatives are in braces. */
  static ofGlobs(globs: readonly string[]): Patterns {
    const all = globs.flatMap((glob) => alternatives(glob.slice(0, MAX_CHARS))).slice(0, MAX_PATTERNS);
    return new Patterns(all.map((glob) => ({ steps: stepsOf(glob), isExclusion: true, onlyFolders: false })));
  }

  /**
   * Reports whether a path, relative to the folder of the patterns, is excluded (true) or included again (false); undefined
   * if no pattern matches it. The last one counts.
   */
  excludes(path: string, isFolder: boolean): boolean | undefined {
    const names = path.split('/');
    for (const { steps, isExclusion, onlyFolders } of [...this.#rules].reverse()) {
      if ((isFolder || !onlyFolders) && matchesPath(steps, names)) return isExclusion;
    }
    return undefined;
  }
}

function gitRule(line: string): Rule[] {
  let pattern = line.slice(0, MAX_CHARS).replace(/(?<!\\)\s+$/, '');
  if (pattern === '' || pattern.startsWith('#')) return [];
  const isExclusion = !pattern.startsWith('!');
  if (!isExclusion) pattern = pattern.slice(1);
  const onlyFolders = pattern.endsWith('/');
  if (onlyFolders) pattern = pattern.slice(0, -1);
  const isAnchored = pattern.includes('/');
  const steps = stepsOf(pattern.replace(/^\//, ''));
  return [{ steps: isAnchored ? steps : ['**', ...steps], isExclusion, onlyFolders }];
}

/** Returns the patterns that one with braces stands for, without nested braces. */
function alternatives(glob: string): string[] {
  const found = /^([^{]*)\{([^{}]*)\}(.*)$/.exec(glob);
  if (!found) return [glob];
  const [, before = '', choices = '', after = ''] = found;
  const rest = alternatives(after).slice(0, MAX_PATTERNS);
  return choices.split(',').flatMap((choice) => rest.map((end) => before + choice + end)).slice(0, MAX_PATTERNS);
}

/** Returns the steps of a pattern. `**` at its end stands for at least one step. */
function stepsOf(pattern: string): Rule['steps'] {
  const steps: Rule['steps'] = pattern.split('/').map((step) => (step === '**' ? step : partsOf(step)));
  return steps.at(-1) === '**' ? [...steps, ['*']] : steps;
}

function partsOf(step: string): Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < step.length; at++) {
    const char = step[at]!;
    const end = char === '[' ? step.indexOf(']', at + 2) : -1;
    if (char === '*') parts.push('*');
    else if (char === '?') parts.push({ matches: () => true });
    else if (end > 0) {
      parts.push(classOf(step.slice(at + 1, end)));
      at = end;
    } else {
      const literal = char === '\\' && at + 1 < step.length ? step[++at]! : char;
      parts.push({ matches: (other) => other === literal });
    }
  }
  return parts;
}

/** Returns a class such as `a-z` or `!0-9`. */
function classOf(text: string): Part {
  const isNegated = /^[!^]/.test(text);
  const ranges = (isNegated ? text.slice(1) : text).match(/.-.|./gs) ?? [];
  const isIn = (char: string): boolean => ranges.some((range) => (range.length === 3 ? range[0]! <= char && char <= range[2]! : range === char));
  return { matches: (char) => isIn(char) !== isNegated };
}

const matchesPath = (steps: Rule['steps'], names: readonly string[]): boolean =>
  matches(steps, names, (step) => step === '**', (step, name) => matches(step as Part[], [...name], (part) => part === '*', matchesChar));

const matchesChar = (part: Part, char: string): boolean => part !== '*' && part.matches(char);

/**
 * Reports whether a pattern matches a list completely. A star of the pattern stands for any number of items. Only the last
 * star is tried with more items, so the time is bounded by the product of both lengths.
 */
function matches<P, T>(pattern: readonly P[], items: readonly T[], isStar: (part: P) => boolean, matchesOne: (part: P, item: T) => boolean): boolean {
  let [at, item, star, taken] = [0, 0, -1, 0];
  while (item < items.length) {
    if (at < pattern.length && isStar(pattern[at]!)) {
      [star, taken] = [at++, item];
    } else if (at < pattern.length && matchesOne(pattern[at]!, items[item]!)) {
      at++;
      item++;
    } else if (star >= 0) {
      at = star + 1;
      item = ++taken;
    } else return false;
  }
  while (at < pattern.length && isStar(pattern[at]!)) at++;
  return at === pattern.length;
}
