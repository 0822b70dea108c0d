import type { McpServerInfo } from "@strata/client";
import { useState } from "preact/hooks";
import { oneLine } from "../conversation/calls.ts";
import { info } from "../store/server.ts";
import { plural } from "../text/format.ts";
import { visible } from "../text/visible.ts";
import { Icon } from "../ui/icons.tsx";
import { useFetched } from "../ui/fetched.tsx";

const NONE: readonly McpServerInfo[] = [];

/** The MCP servers of the configuration and of editors: state, sessions and tools. */
export function McpServers({ servers = NONE }: { servers: readonly McpServerInfo[] | undefined }) {
  return (
    <section class="card" aria-labelledby="mcp">
      <h2 id="mcp">MCP servers</h2>
      {servers.length === 0
        ? (
          <p class="quiet">
            No MCP servers. Add one to <code>mcp_servers</code> in strata.yaml, or in the settings of your editor. <code>docs/configuration.md</code> has
            examples.
          </p>
        )
        : <ul class="mcp-servers">{servers.map((server, i) => <McpServer key={`${i} ${server.name}`} server={server} />)}</ul>}
    </section>
  );
}

const sources = new Map<string, string>([["config", "from strata.yaml"], ["client", "from an editor"]]);

function McpServer({ server }: { server: McpServerInfo }) {
  const { name, transport, source, state, error = "", sessions, tools } = server;
  const [open, setOpen] = useState(false);
  const facts = [transport, sources.get(source) ?? source, ...(sessions > 0 ? [plural(sessions, "session")] : [])];
  return (
    <li class="mcp-server" data-state={state}>
      <div class="provider-what">
        <bdi class="provider-name">{oneLine(name)}</bdi>
        <span class={state === "failed" ? "mark bad" : "quiet"}>{oneLine(state)}</span>
        <span class="quiet">{oneLine(facts.join(", "))}</span>
      </div>
      {error !== "" && <p class="mcp-error">{visible(error)}</p>}
      {tools.length > 0 && (
        <button type="button" class="disclosure" aria-expanded={open} aria-label={`${plural(tools.length, "tool")} of ${oneLine(name)}`} onClick={() => setOpen(!open)}>
          <Icon name="chevron" />{plural(tools.length, "tool")}
        </button>
      )}
      {open && (
        <ul class="mcp-tools" aria-label={`Tools of ${oneLine(name)}`} tabIndex={0}>
          {tools.map((tool, i) => (
            <li key={i}>
              <bdi class="mono">{oneLine(tool.name)}</bdi>
              {tool.title && tool.title !== tool.name && <bdi>{oneLine(tool.title)}</bdi>}
              {tool.description && <bdi class="quiet">{oneLine(tool.description)}</bdi>}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

/** A mark with the number of MCP servers that have failed; nothing for none. */
export function FailedServers() {
  const failed = useFetched(info)?.mcpServers?.filter((server) => server.state === "failed").length ?? 0;
  return failed === 0 ? null : <span class="mark bad" title={`${plural(failed, "MCP server")} failed`}>{failed} MCP failed</span>;
}
