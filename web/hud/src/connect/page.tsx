import { info } from "../store/server.ts";
import { Coded } from "../ui/coded.tsx";
import { CopyButton } from "../ui/controls.tsx";
import { Shown, useFetched } from "../ui/fetched.tsx";
import { socketWay, ways, type Way } from "./editors.ts";

/** How each editor connects: its configuration with the paths and addresses of this server. */
export function ConnectPage() {
  const server = useFetched(info);
  return (
    <main class="page" id="main" tabIndex={-1}>
      <h1>Connect an editor</h1>
      <p class="note">VS Code has an extension. An editor with support for the Agent Client Protocol starts Strata as a program. All editors share the sessions of this server.</p>
      <Shown of={info}>
        {server && [...ways(server.executable ?? "strata"), socketWay(server.address.webSocket)].map((way) => <WayCard key={way.id} way={way} />)}
        {server?.address.serverFile && <p class="note">Plugins find the address and the token in <code>{server.address.serverFile}</code>.</p>}
      </Shown>
    </main>
  );
}

function WayCard({ way }: { way: Way }) {
  const heading = `connect-${way.id}`;
  return (
    <section class="card way" aria-labelledby={heading} data-way={way.id}>
      <header class="way-head">
        <h2 id={heading}>{way.name}</h2>
        <span class="quiet mono">{way.where}</span>
        <CopyButton text={() => way.code} label={`Copy the configuration for ${way.name}`} />
      </header>
      <pre class="way-code" tabIndex={0} aria-label={`Configuration for ${way.name}`} role="region"><code>{way.code}</code></pre>
      {way.note !== "" && <p class="note"><Coded text={way.note} /></p>}
    </section>
  );
}
