// An MCP server over stdio with two tools: greet, which says who was greeted where, and paint, which returns an image. It ends with its
// stdin.
import { createInterface } from "node:readline";

const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/rce11wAAAABJRU5ErkJggg==";
const text = { type: "string" };
const tools = [
  { name: "greet", description: "Greets somebody.", inputSchema: { type: "object", properties: { name: text }, required: ["name"] } },
  { name: "paint", description: "Paints.", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
];

const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");

const results = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "shop", version: "1" } }),
  ping: () => ({}),
  "tools/list": () => ({ tools }),
  "tools/call"({ name, arguments: input }) {
    if (name === "paint") return { content: [{ type: "image", mimeType: "image/png", data: picture }] };
    return { content: [{ type: "text", text: `Hello, ${input.name}, in ${process.cwd()}.` }] };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  if (results[method]) send({ id, result: results[method](params) });
  else send({ id, error: { code: -32601, message: `there is no ${method}` } });
}
