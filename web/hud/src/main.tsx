import { effect, untracked } from "@preact/signals";
import { render } from "preact";
import { App } from "./app.tsx";
import { listen } from "./keys.ts";
import { route } from "./routes.ts";
import { enter } from "./store/access.ts";
import { client, isOpen, start } from "./store/connection.ts";
import { connectionChanged } from "./store/server.ts";
import { current, open } from "./store/session.ts";
import { attention, follow, lost } from "./store/sessions.ts";
import { failed } from "./store/toasts.ts";
import { followSeen } from "./store/unread.ts";

enter();
const root = document.getElementById("hud");
if (root) render(<App />, root);
listen();
followSeen();

effect(() => {
  const open = isOpen.value;
  untracked(() => {
    connectionChanged(open);
    if (!open) lost();
  });
});
effect(() => {
  if (client.value) untracked(follow).catch(failed("The session list no longer updates"));
});
effect(() => {
  const here = route.value;
  if (client.value) untracked(() => open(here.page === "session" ? here.id : null));
});
effect(() => {
  const title = current.value?.title.value;
  const waiting = attention.value.size;
  document.title = (waiting > 0 ? `(${waiting}) ` : "") + (title ? `${title} · Strata` : "Strata");
});
void start();
