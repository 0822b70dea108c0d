import type { Provider } from "@strata/client";
import { useState } from "preact/hooks";
import { counts, info, providers, setKey } from "../store/server.ts";
import { failed, toast } from "../store/toasts.ts";
import { connection, isOpen } from "../store/connection.ts";
import { bytes, count, fully } from "../text/format.ts";
import { CopyButton } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";

/** The server: what it is, what it can call, how busy it is, and how an editor connects. */
export function ServerPage() {
  const server = useFetched(info);
  return (
    <main class="page" id="main" tabIndex={-1}>
      <h1>Server</h1>
      <Shown of={info}>
        {server && (
          <>
            <section class="card" aria-labelledby="now">
              <h2 id="now">Now</h2>
              <Now />
            </section>
            <section class="card" aria-labelledby="about">
              <h2 id="about">About</h2>
              <dl class="facts">
                <dt>Version</dt><dd>{server.version} <span class="quiet">{server.go}</span></dd>
                <dt>Running since</dt><dd>{fully(server.startedAt)}</dd>
                <dt>Database</dt><dd><Path of={server.database.path} /></dd>
                <dt>Stored</dt><dd>{count(server.database.sessions)} sessions, {count(server.database.messages)} messages</dd>
                {server.logFile && <><dt>Log</dt><dd><Path of={server.logFile} /></dd></>}
              </dl>
            </section>
            <section class="card" aria-labelledby="connect">
              <h2 id="connect">Connect an editor</h2>
              <dl class="facts">
                <dt>WebSocket</dt><dd><Path of={server.address.webSocket} /></dd>
                {server.address.serverFile && <><dt>Found through</dt><dd><Path of={server.address.serverFile} /></dd></>}
                {server.address.tokenFile && <><dt>Token in</dt><dd><Path of={server.address.tokenFile} /></dd></>}
                <dt>As a program</dt><dd><code>strata stdio</code></dd>
              </dl>
            </section>
            <section class="card" aria-labelledby="models">
              <h2 id="models">Models</h2>
              <div class="scroll-x" tabIndex={0} role="region" aria-labelledby="models">
                <table class="table" aria-labelledby="models">
                  <thead><tr><th>Model</th><th class="number">Window</th><th class="number">Output at most</th><th>Thinks</th><th>Sees</th></tr></thead>
                  <tbody>
                    {server.models.map((m) => (
                      <tr key={m.name}>
                        <td>{m.title} <span class="quiet mono">{m.name}</span>{m.name === server.model && <span class="mark">default</span>}</td>
                        <td class="number">{count(m.window)}{!m.known && <span class="quiet" title="The model is not known; this is the stated default"> assumed</span>}</td>
                        <td class="number">{count(m.maxOutput)}</td>
                        <td>{m.thoughtLevels.length > 1 ? "yes" : "no"}</td>
                        <td>{m.vision ? "yes" : "no"}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </section>
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

/** What changes while one looks; the server tells it each second in which it does. */
function Now() {
  const now = counts.value;
  if (!now) return <p class="quiet">Nothing was told yet.</p>;
  const stale = !isOpen.value;
  return (
    <div class={stale ? "shown stale" : "shown"}>
      {stale && <p class="mark" role="status">Not up to date: the connection is {connection.value.kind === "closed" ? "closed" : "lost"}</p>}
      <dl class="figures">
        <div><dt>Connections</dt><dd data-count="connections">{count(now.connections)}</dd></div>
        <div><dt>Sessions in memory</dt><dd data-count="sessionsInMemory">{count(now.sessionsInMemory)}</dd></div>
        <div><dt>Writes waiting</dt><dd data-count="writesWaiting">{count(now.writesWaiting)}</dd></div>
        <div><dt>Replies waiting</dt><dd data-count="repliesWaiting">{count(now.repliesWaiting)}</dd></div>
        <div><dt>Database</dt><dd data-count="databaseBytes" title={`${count(now.databaseBytes)} bytes`}>{bytes(now.databaseBytes)}</dd></div>
      </dl>
    </div>
  );
}

function Providers() {
  const list = useFetched(providers)?.providers;
  return (
    <section class="card" aria-labelledby="providers">
      <h2 id="providers">Providers</h2>
      <p class="note">A key that is set here is kept in the server’s memory for this run, and is never shown or stored.</p>
      <Shown of={providers}>
        {list?.length === 0 && <p class="quiet">None is configured. Add one to strata.yaml.</p>}
        <ul class="providers">{list?.map((p) => <ProviderLine key={p.name} provider={p} />)}</ul>
      </Shown>
    </section>
  );
}

const keys: Record<Provider["key"], string> = {
  not_needed: "needs no key", missing: "no key", env: "key from the environment", memory: "key set for this run",
};

function ProviderLine({ provider }: { provider: Provider }) {
  const [key, setField] = useState("");
  const set = (value: string): void => {
    setKey(provider.name, value).then(
      () => {
        setField("");
        toast(value === "" ? `The key of ${provider.name} was taken back.` : `${provider.name} has its key for this run.`);
      },
      failed("The key could not be set"),
    );
  };
  return (
    <li class="provider">
      <div class="provider-what">
        <span class="provider-name">{provider.name}</span>
        <span class={provider.key === "missing" ? "mark bad" : "quiet"}>{keys[provider.key]}</span>
        <span class="quiet">{provider.kind}{provider.baseUrl ? `, ${provider.baseUrl}` : ""}{provider.keyEnv ? `, ${provider.keyEnv}` : ""}</span>
      </div>
      {provider.key !== "not_needed" && (
        <form class="provider-key" onSubmit={(e) => { e.preventDefault(); set(key); }}>
          <input class="field mono" type="password" autocomplete="off" aria-label={`Key of ${provider.name}`} placeholder="Key" value={key} onInput={(e) => setField(e.currentTarget.value)} />
          <button type="submit" class="button" disabled={key === "" || !isOpen.value}>Set</button>
          {provider.key === "memory" && <button type="button" class="button" disabled={!isOpen.value} onClick={() => set("")}>Take back</button>}
        </form>
      )}
    </li>
  );
}
