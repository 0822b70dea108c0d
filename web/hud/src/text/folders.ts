/** namesApart returns a name for each path: its last part, preceded by as many parts as tell it apart from the other paths. */
export function namesApart(paths: readonly string[]): Map<string, string> {
  const names = new Map<string, string>();
  let alike = [...new Set(paths)];
  for (let many = 1; alike.length > 0; many++) {
    const groups = new Map<string, string[]>();
    for (const path of alike) {
      const name = ending(path, many);
      groups.set(name, [...(groups.get(name) ?? []), path]);
    }
    alike = [];
    for (const [name, group] of groups) {
      const whole = many >= MAX_PARTS;
      if (group.length === 1 || whole) for (const path of group) names.set(path, whole ? path : name);
      else alike.push(...group);
    }
  }
  return names;
}

/** Maximum parts of a name. Longer ones are the whole path. */
const MAX_PARTS = 32;

/** ending returns the last parts of a path, or the path if it has no more. */
function ending(path: string, many: number): string {
  const parts = path.split(/[\\/]/).filter((part) => part !== "");
  return parts.length < many || parts.length === 0 ? path : parts.slice(-many).join("/");
}
