#!/usr/bin/env node
// MCP servers as ACP editors name them, with the model offline/actor.
//   node servers-check.mjs --sdk 1|2 --cwd DIR --state FILE --phase talk|load (--url ws://HOST/acp --token T | -- COMMAND [ARG...])
// `talk` has tools of a server called and stores in FILE what other windows show of that; `load` wants the same of another server
// process, and names the server again.
import { fileURLToPath } from "node:url";
import { call, check, checkConversation, checkShown, connect, keep, kept, loaded, opt, run, script, step, textOf } from "./checks.mjs";

const shop = { name: "shop", command: process.execPath, args: [fileURLToPath(new URL("./shop.mjs", import.meta.url))], env: [] };

async function talk() {
  const editor = await connect();
  const sessionId = await editor.newSession(opt.cwd, undefined, [shop]);
  editor.answers.push("allow_once", "reject_once", "allow_once");
  const { stopReason } = await editor.prompt(sessionId, script(
    step(call("shop__greet", { name: "Ada" }), call("shop__greet", { name: "Bob" })),
    step(call("shop__greet", {}), call("shop__paint", {})),
    "say Done.",
  ));
  const [greeted, rejected, wrong, painted] = editor.conversation(sessionId).calls();
  check("a tool of the server is called", stopReason === "end_turn" && greeted.status === "completed" && greeted.kind === "other", greeted);
  check("the server works in the folder of the session", textOf(greeted) === `Hello, Ada, in ${opt.cwd}.`, greeted);
  check("a call that the user rejects does not run", rejected.status === "failed" && textOf(rejected).includes("rejected"), rejected);
  check("a wrong input is not sent to the server", wrong.status === "failed" && textOf(wrong).includes("name"), wrong);
  const image = painted.content?.[0]?.content;
  check("an image is shown", painted.status === "completed" && image?.type === "image" && image.mimeType === "image/png" && image.data.startsWith("iVBOR"), painted);
  const asked = editor.questions.map((q) => q.toolCall.toolCallId);
  check("the user is asked about each call, also of a tool that says it only reads", String(asked) === String([greeted, rejected, painted].map((c) => c.toolCallId)), editor.questions);
  const shown = editor.conversation(sessionId).shown();
  checkConversation("load", await loaded(sessionId), shown);
  await editor.close();
  await keep({ [sessionId]: shown });
}

// A restarted server knows the calls, but no server that an editor has named.
async function load() {
  const before = await kept();
  await checkShown(before);
  const [sessionId] = Object.keys(before);
  for (const [servers, want] of [[[], "failed"], [[shop], "completed"]]) {
    const editor = await connect();
    await editor.load(sessionId, opt.cwd, servers);
    editor.answers.push("allow_once");
    await editor.prompt(sessionId, call("shop__greet", { name: "Eve" }));
    const last = editor.conversation(sessionId).calls().at(-1);
    check(`load with ${servers.length} servers: the call is ${want}`, last.status === want, last);
    await editor.close();
  }
}

await run("servers-check", { talk, load });
