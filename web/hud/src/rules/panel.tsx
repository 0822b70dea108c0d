import type { PermissionRule } from "@strata/client";
import { useMemo } from "preact/hooks";
import { isOpen } from "../store/connection.ts";
import type { SessionView } from "../store/session.ts";
import { failed, toast } from "../store/toasts.ts";
import { visible } from "../text/visible.ts";
import { Confirm, Progress } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { ruleRows, type RuleRow } from "./rows.ts";

/** The rules by which calls run, or are refused, without a question. */
export function RulesPanel({ view }: { view: SessionView }) {
  const rules = useFetched(view.rules)?.rules;
  const rows = useMemo(() => (rules ? ruleRows(rules) : null), [rules]);
  return (
    <div class="panel fill">
      <div class="panel-head"><p class="note">Calls that match a rule run, or are refused, without a question.</p></div>
      <Shown of={view.rules} class="column">
        {!rows && view.rules.failure.value === "" && <Progress value={undefined} label="Loading the rules" />}
        {rows && <VirtualList class="rules" focusable role="list" label="Rules" rows={rows} estimate={(row) => (row.kind === "rule" ? 56 : 36)} draw={(row) => <Line row={row} view={view} />} />}
      </Shown>
    </div>
  );
}

function Line({ row, view }: { row: RuleRow; view: SessionView }) {
  switch (row.kind) {
    case "head":
      return <div class="tier-head" role="listitem"><h2 class="tier-name">{row.title}</h2></div>;
    case "none":
      return <p class="quiet none">{row.text}</p>;
    case "rule":
      return <Rule rule={row.rule} kept={row.kept} view={view} />;
  }
}

function Rule({ rule, kept, view }: { rule: PermissionRule; kept: boolean; view: SessionView }) {
  const text = visible(rule.rule);
  const change = (method: "_strata/permissions/keep" | "_strata/permissions/revoke", done: string): void => {
    view.call(method, { rule: rule.rule }).then(
      () => {
        view.rules.changed();
        toast(done);
        document.querySelector<HTMLElement>(".rules")?.focus();
      },
      failed(method.endsWith("keep") ? "Cannot keep the rule" : "Cannot revoke the rule"),
    );
  };
  return (
    <div class="rule" role="listitem" data-rule={rule.rule} data-scope={rule.scope}>
      <span class={rule.effect === "deny" ? "mark bad" : "mark"}>{rule.effect === "deny" ? "Refuse" : "Allow"}</span>
      <code>{text}</code>
      {rule.scope === "session" && (
        <span class="rule-actions">
          {kept ? <span class="quiet">in your configuration</span>
            : <Confirm label="Keep for all sessions" about={text} question="Add this rule to your configuration?" yes="Add" disabled={!isOpen.value} onYes={() => change("_strata/permissions/keep", "Rule added to your configuration.")} />}
          <Confirm label="Revoke" about={text} question="Revoke this rule?" yes="Revoke" disabled={!isOpen.value} onYes={() => change("_strata/permissions/revoke", "Rule revoked.")} />
        </span>
      )}
    </div>
  );
}
