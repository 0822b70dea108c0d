import { connect } from '@strata/client';

const { url, token, cwd } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const client = await connect({ url, token });
const session = await client.newSession({ cwd });
const turn = session.prompt('say Hello.');
document.body.dataset.reply = await turn.text();
await client.close();
