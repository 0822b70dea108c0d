import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./app.tsx";
import { listen } from "./keys.ts";
import { live } from "./live.ts";
import { enter } from "./store/access.ts";
import { current } from "./store/session.ts";
import { attention } from "./store/sessions.ts";
import { followSeen } from "./store/unread.ts";

enter();
const root = document.getElementById("hud");
if (root) render(<App />, root);
listen();
followSeen();

effect(() => {
  const title = current.value?.title.value;
  const waiting = attention.value.size;
  document.title = (waiting > 0 ? `(${waiting}) ` : "") + (title ? `${title} · Strata` : "Strata");
});
live();
