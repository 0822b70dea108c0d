import type { PermissionRule } from "@strata/client";

/** RuleRow is a row of the panel: a heading, a rule, or the remark that there is none. */
export type RuleRow = { key: string } & (
  | { kind: "head"; title: string }
  | { kind: "rule"; rule: PermissionRule; kept: boolean }
  | { kind: "none"; text: string }
);

/** ruleRows returns the rules of the session, then those of the configuration. A rule that is in both is kept. */
export function ruleRows(rules: readonly PermissionRule[]): RuleRow[] {
  const own = rules.filter((r) => r.scope === "session");
  const config = rules.filter((r) => r.scope === "config");
  const kept = new Set(config.filter((r) => r.effect === "allow").map((r) => r.rule));
  return [
    { key: "head session", kind: "head", title: "This session" },
    ...own.map((rule, i): RuleRow => ({ key: `session ${i} ${rule.rule}`, kind: "rule", rule, kept: kept.has(rule.rule) })),
    ...(own.length === 0 ? [{ key: "none session", kind: "none", text: "None. A call that you always allow adds one." } as const] : []),
    { key: "head config", kind: "head", title: "Your configuration" },
    ...config.map((rule, i): RuleRow => ({ key: `config ${i} ${rule.rule}`, kind: "rule", rule, kept: false })),
    ...(config.length === 0 ? [{ key: "none config", kind: "none", text: "None. tools.allow and tools.deny hold rules for all sessions." } as const] : []),
  ];
}
