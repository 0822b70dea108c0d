import type { Provider } from "@strata/client";
import { useEffect, useRef, useState } from "preact/hooks";
import { route } from "../routes.ts";
import { counts, info, providers, setKey } from "../store/server.ts";
import { failed, toast } from "../store/toasts.ts";
import { connection, isOpen } from "../store/connection.ts";
import { bytes, count, fully, plural } from "../text/format.ts";
import { Confirm, CopyButton } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { McpServers } from "./mcp.tsx";

/** The server page: activity, version and storage, addresses for editors, models, MCP servers and providers. */
export function ServerPage() {
  const server = useFetched(info);
  return (
    <main class="page" id="main" tabIndex={-1}>
      <h1>Server</h1>
      <Shown of={info}>
        {server && (
          <>
            <section class="card" aria-labelledby="activity">
              <h2 id="activity">Activity</h2>
              <Activity />
            </section>
            <section class="card" aria-labelledby="about">
              <h2 id="about">About</h2>
              <dl class="facts">
                <dt>Version</dt><dd>{server.version} <span class="quiet">{server.go}</span></dd>
                <dt>Started</dt><dd>{fully(server.startedAt)}</dd>
                <dt>Database</dt><dd><Path of={server.database.path} /></dd>
                <dt>Stored</dt><dd>{plural(server.database.sessions, "session")}, {plural(server.database.messages, "message")}</dd>
                {server.logFile && <><dt>Log</dt><dd><Path of={server.logFile} /></dd></>}
              </dl>
            </section>
            <section class="card" aria-labelledby="connect">
              <h2 id="connect">Addresses</h2>
              <dl class="facts">
                <dt>WebSocket</dt><dd><Path of={server.address.webSocket} /></dd>
                {server.address.serverFile && <><dt>Server file</dt><dd><Path of={server.address.serverFile} /></dd></>}
                {server.address.tokenFile && <><dt>Token file</dt><dd><Path of={server.address.tokenFile} /></dd></>}
              </dl>
              <p class="note"><a href="#/connect">Connect an editor</a></p>
            </section>
            <section class="card" aria-labelledby="models">
              <h2 id="models">Models</h2>
              <div class="scroll-x" tabIndex={0} role="region" aria-label="Table of models">
                <table class="table" aria-labelledby="models">
                  <thead><tr><th>Model</th><th class="number">Window</th><th class="number">Maximum output</th><th>Thinking</th><th>Vision</th></tr></thead>
                  <tbody>
                    {server.models.map((m) => (
                      <tr key={m.name}>
                        <td>{m.title} <span class="quiet mono">{m.name}</span>{m.name === server.model && <span class="mark">default</span>}</td>
                        <td class="number">{count(m.window)}{!m.known && <span class="quiet" title="Unknown model: the default window and output apply"> assumed</span>}</td>
                        <td class="number">{count(m.maxOutput)}</td>
                        <td>{m.thoughtLevels.length > 1 ? "yes" : "no"}</td>
                        <td>{m.vision ? "yes" : "no"}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </section>
            <McpServers servers={server.mcpServers} />
          </>
        )}
      </Shown>
      <Providers />
    </main>
  );
}

function Path({ of }: { of: string }) {
  return <span class="path"><code>{of}</code><CopyButton text={() => of} /></span>;
}

/** Live figures. The server sends them once a second while they change. */
function Activity() {
  const figures = counts.value;
  if (!figures) return <p class="quiet">No figures yet.</p>;
  const stale = !isOpen.value;
  return (
    <div class={stale ? "shown stale" : "shown"}>
      {stale && <p class="mark" role="status">Not up to date: connection {connection.value.kind === "closed" ? "closed" : "lost"}</p>}
      <dl class="figures">
        <div><dt>Connections</dt><dd data-count="connections">{count(figures.connections)}</dd></div>
        <div><dt>Sessions in memory</dt><dd data-count="sessionsInMemory">{count(figures.sessionsInMemory)}</dd></div>
        <div><dt>Queued writes</dt><dd data-count="writesWaiting">{count(figures.writesWaiting)}</dd></div>
        <div><dt>Queued responses</dt><dd data-count="repliesWaiting">{count(figures.repliesWaiting)}</dd></div>
        <div><dt>Database</dt><dd data-count="databaseBytes" title={`${count(figures.databaseBytes)} bytes`}>{bytes(figures.databaseBytes)}</dd></div>
      </dl>
    </div>
  );
}

function Providers() {
  const list = useFetched(providers)?.providers;
  return (
    <section class="card" aria-labelledby="providers">
      <h2 id="providers">Providers</h2>
      <p class="note">A key set here stays in memory until the server stops. It is never shown or stored.</p>
      <Shown of={providers}>
        {list?.length === 0 && <p class="quiet">No providers configured. Add one to strata.yaml.</p>}
        <ul class="providers">{list?.map((p) => <ProviderLine key={p.name} provider={p} />)}</ul>
      </Shown>
    </section>
  );
}

const keyStates: Record<Provider["key"], string> = {
  not_needed: "no key required", missing: "key missing", env: "key from the environment", memory: "key set until the server stops",
  stored: "key stored by strata login", offered: "key from an editor until the server stops",
};

function ProviderLine({ provider }: { provider: Provider }) {
  const [key, setField] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const wanted = route.value.page === "server" && route.value.key === provider.name;
  useEffect(() => {
    if (wanted) field.current?.focus();
  }, [wanted]);
  const set = (value: string): void => {
    setKey(provider.name, value).then(
      () => {
        setField("");
        toast(value === "" ? `Key of ${provider.name} removed.` : `Key of ${provider.name} set until the server stops.`);
      },
      failed("Cannot set the key"),
    );
  };
  return (
    <li class="provider">
      <div class="provider-what">
        <span class="provider-name">{provider.name}</span>
        <span class={provider.key === "missing" ? "mark bad" : "quiet"}>{keyStates[provider.key]}</span>
        <span class="quiet">{provider.kind}{provider.baseUrl ? `, ${provider.baseUrl}` : ""}{provider.keyEnv ? `, ${provider.keyEnv}` : ""}</span>
      </div>
      {(provider.key !== "not_needed" || wanted) && (
        <form class="provider-key" onSubmit={(e) => { e.preventDefault(); set(key); }}>
          <input ref={field} class="field mono" type="password" autocomplete="off" aria-label={`API key of ${provider.name}`} placeholder="API key" value={key} onInput={(e) => setField(e.currentTarget.value)} />
          <button type="submit" class="button" disabled={key === "" || !isOpen.value}>Set key</button>
          {provider.key === "memory" && <Confirm label="Remove key" about={provider.name} question="Remove the key?" yes="Remove" disabled={!isOpen.value} onYes={() => set("")} />}
        </form>
      )}
    </li>
  );
}
