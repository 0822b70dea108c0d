import { connect, ErrorCode, items, RpcError, VERSION, type Client, type SessionEvent, type Turn } from '@strata/client';
import { findServer, startServer, type FoundServer } from '@strata/client/node';

declare const process: { env: { [name: string]: string | undefined }; cwd(): string };
declare const console: { log(text: string): void };

const found: FoundServer = await startServer({ env: process.env, command: 'no program: the server runs' });
const client: Client = await connect({ find: () => findServer(process.env) });
const session = await client.newSession({ cwd: process.cwd() });
const watched: Promise<string[]> = watch();

async function watch(): Promise<string[]> {
  const kinds: string[] = [];
  for await (const event of session.watch({ own: true }) as AsyncIterable<SessionEvent>) {
    if (event.type === 'update') kinds.push(event.update.sessionUpdate);
    if (event.type === 'event' && event.event.type === 'turn_finished') break;
  }
  return kinds;
}

const turn: Turn = session.prompt('say Hello.');
const text: string = await turn.text();
let messages = 0;
for await (const { role } of items(client, '_strata/history/list', { sessionId: session.id })) if (role !== 'tool') messages++;
let missing = '';
try {
  await client.call('_strata/session/info', { sessionId: 'sess_NONE' });
} catch (error) {
  if (error instanceof RpcError && error.code === ErrorCode.notFound) missing = error.data?.kind ?? '';
}
const kinds = await watched;
await client.close();
console.log(JSON.stringify({ text, messages, missing, watched: kinds.length > 0, version: VERSION, pid: found.pid }));
