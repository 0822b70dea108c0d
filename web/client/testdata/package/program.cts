import client = require('@strata/client');
import node = require('@strata/client/node');

declare const process: { env: { [name: string]: string | undefined }; cwd(): string };
declare const console: { log(text: string): void };

async function main(): Promise<void> {
  const found: node.FoundServer = await node.startServer({ env: process.env, command: 'no program: the server runs' });
  const connected: client.Client = await client.connect({ find: () => node.findServer(process.env) });
  const session = await connected.newSession({ cwd: process.cwd() });
  const text: string = await session.prompt('say Hello.').text();
  let messages = 0;
  for await (const { role } of client.items(connected, '_strata/history/list', { sessionId: session.id })) if (role !== 'tool') messages++;
  let missing = '';
  try {
    await connected.call('_strata/session/info', { sessionId: 'sess_NONE' });
  } catch (error) {
    if (error instanceof client.RpcError && error.code === client.ErrorCode.notFound) missing = error.data?.kind ?? '';
  }
  await connected.close();
  console.log(JSON.stringify({ text, messages, missing, watched: true, version: client.VERSION, pid: found.pid }));
}

void main();
