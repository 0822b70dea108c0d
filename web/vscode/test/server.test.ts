import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf, isPrivate } from '../src/server/address.ts';
import { programOf } from '../src/server/program.ts';

for (const [text, address] of [
  ['ws://127.0.0.1:7717', 'ws://127.0.0.1:7717/acp'],
  ['http://127.0.0.1:7717/', 'ws://127.0.0.1:7717/acp'],
  ['https://strata.example/a/acp?x#y', 'wss://strata.example/a/acp'],
  ['WSS://Strata.Example', 'wss://strata.example/acp'],
  ['http://', undefined],
  ['strata.example', undefined],
  ['127.0.0.1:7717', undefined],
  ['a b', undefined],
  ['ftp://strata.example', undefined],
  ['wss://me:secret@strata.example', undefined],
] as const) {
  test(`the address of ${text} is ${address}`, () => assert.equal(addressOf(text), address));
}

for (const address of ['wss://strata.example/acp', 'ws://localhost:1/acp', 'http://127.0.0.1:7717/', 'ws://127.1.2.3/acp', 'ws://[::1]:1/acp', 'ws://a.localhost/acp']) {
  test(`keys are sent to ${address}`, () => assert.equal(isPrivate(address), true));
}

for (const address of ['ws://strata.example/acp', 'ws://10.0.0.1/acp', 'ws://127.0.0.1.example/acp', 'ws://localhost.example/acp', 'ws://notlocalhost/acp', 'ws://[::2]/acp']) {
  test(`no keys are sent to ${address}`, () => assert.equal(isPrivate(address), false));
}

for (const [setting, program] of [['', 'strata'], [' strata ', 'strata'], ['~/go/bin/strata', '/home/me/go/bin/strata'], ['/opt/a b/strata', '/opt/a b/strata'], ['bin/strata', undefined], ['./strata', undefined], ['a\0b', undefined]] as const) {
  test(`the program of ${JSON.stringify(setting)} is ${program}`, () => assert.equal(programOf(setting, '/home/me'), program));
}
