import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type Server, type Socket as TCPSocket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { encodeFrame, FrameError, FrameReader, MAX_FRAGMENTS, Opcode, type Message } from '../src/frames.js';
import { NodeSocket } from '../src/node-socket.js';

const servers: Server[] = [];
after(() => servers.forEach((server) => server.close()));

/** The events of a socket, in order. */
type Happening = ['open'] | ['message', string] | ['error', string, number?] | ['close', number, string, boolean];

interface Raw {
  stream: TCPSocket;
  head: string;
  reader: AsyncIterator<Message>;
}

/** A server of raw bytes; `serve` is called for each connection after its request was received. */
async function raw(serve: (raw: Raw) => void): Promise<string> {
  const server = createServer((stream) => {
    let head = '';
    stream.on('error', () => {});
    const first = (chunk: Buffer) => {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      stream.off('data', first);
      serve({ stream, head, reader: framesOf(stream) });
    };
    stream.on('data', first);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/acp`;
}

/** The frames sent by a client, which must all be masked. */
async function* framesOf(stream: TCPSocket): AsyncGenerator<Message> {
  let data = Buffer.alloc(0);
  for await (const chunk of stream) {
    data = Buffer.concat([data, chunk as Buffer]);
    for (;;) {
      if (data.length < 2) break;
      assert.ok(data[1]! & 0x80, 'a client must mask');
      const short = data[1]! & 0x7f;
      const size = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (data.length < size) break;
      const length = short < 126 ? short : short === 126 ? data.readUInt16BE(2) : Number(data.readBigUInt64BE(2));
      if (data.length < size + 4 + length) break;
      const mask = data.subarray(size, size + 4);
      const payload = Buffer.from(data.subarray(size + 4, size + 4 + length).map((byte, i) => byte ^ mask[i & 3]!));
      yield { opcode: data[0]! & 0x0f, payload };
      data = data.subarray(size + 4 + length);
    }
  }
}

function accepted(head: string, more = ''): string {
  const key = /sec-websocket-key: (.+)\r\n/i.exec(head)![1]!;
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  return `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n${more}\r\n`;
}

/** A frame of a server: `first` is its first byte. */
function frame(first: number, payload: Buffer | string): Buffer {
  const content = Buffer.from(payload);
  const header = content.length < 126 ? Buffer.from([first, content.length]) : content.length < 65_536 ? Buffer.alloc(4) : Buffer.alloc(10);
  header[0] = first;
  if (content.length >= 126) header[1] = content.length < 65_536 ? 126 : 127;
  if (header.length === 4) header.writeUInt16BE(content.length, 2);
  if (header.length === 10) header.writeBigUInt64BE(BigInt(content.length), 2);
  return Buffer.concat([header, content]);
}

const text = (content: string) => frame(0x81, content);
const close = (code: number, reason = '') => {
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  return frame(0x88, Buffer.concat([payload, Buffer.from(reason)]));
};

/** All events of a socket up to its end. */
function happenings(url: string, use: (socket: NodeSocket) => void = () => {}): Promise<Happening[]> {
  const socket = new NodeSocket(url, ['acp'], { Authorization: 'Bearer secret' });
  const seen: Happening[] = [];
  return new Promise((resolve) => {
    socket.onopen = () => {
      seen.push(['open']);
      use(socket);
    };
    socket.onmessage = ({ data }) => seen.push(['message', data]);
    socket.onerror = ({ message, status }) => seen.push(status === undefined ? ['error', message] : ['error', message, status]);
    socket.onclose = ({ code, reason, wasClean }) => {
      seen.push(['close', code, reason, wasClean]);
      resolve(seen);
    };
  });
}

test('the request is a WebSocket upgrade with the given headers', async () => {
  let request = '';
  const url = await raw(({ stream, head }) => {
    request = head;
    stream.end(accepted(head, 'Sec-WebSocket-Protocol: acp\r\n') + 'x'.slice(1));
    stream.write(close(1000));
  });
  await happenings(url);
  assert.match(request, /^GET \/acp HTTP\/1\.1\r\n/);
  for (const header of ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Protocol: acp', 'Authorization: Bearer secret']) {
    assert.ok(request.includes(`${header}\r\n`), header);
  }
});

test('messages are delivered in order: fragmented, with pings in between, in single bytes', async () => {
  const pongs: string[] = [];
  const url = await raw(async ({ stream, head, reader }) => {
    const long = 'y'.repeat(70_000);
    const bytes = Buffer.concat([
      Buffer.from(accepted(head)),
      text('first, with the handshake'),
      frame(0x01, 'in '), frame(0x89, 'ping'), frame(0x00, Buffer.from('fragments é').subarray(0, 11)), frame(0x80, Buffer.from('é').subarray(1)),
      frame(0x82, 'binary'),
      frame(0x8a, 'an unsolicited pong'),
      text('x'.repeat(300)),
      text(''),
    ]);
    for (const byte of bytes) stream.write(Buffer.from([byte]));
    stream.write(text(long));
    stream.write(close(1001, 'bye'));
    for await (const { opcode, payload } of { [Symbol.asyncIterator]: () => reader }) {
      if (opcode === Opcode.pong) pongs.push(payload.toString());
      if (opcode === Opcode.close) assert.equal(payload.readUInt16BE(0), 1001);
    }
  });
  const seen = await happenings(url);
  assert.deepEqual(
    seen.map(([what, data]) => (what === 'message' ? (typeof data === 'string' ? (data.length > 299 ? data.length : data) : 'bytes') : what)),
    ['open', 'first, with the handshake', 'in fragments é', 'bytes', 300, '', 70_000, 'close'],
  );
  assert.deepEqual(seen.at(-1), ['close', 1001, 'bye', true]);
  assert.deepEqual(pongs, ['ping']);
});

test('sent messages are masked, whatever their length', async () => {
  const lengths = [0, 1, 125, 126, 65_535, 65_536, 200_000];
  const heard: number[] = [];
  const url = await raw(async ({ stream, head, reader }) => {
    stream.write(accepted(head));
    for await (const { opcode, payload } of { [Symbol.asyncIterator]: () => reader }) {
      if (opcode === Opcode.close) {
        assert.deepEqual([payload.readUInt16BE(0), payload.toString('utf8', 2)], [1000, 'done']);
        stream.end(close(1000));
        continue;
      }
      assert.equal(payload.toString(), 'é'.repeat(payload.length / 2) + 'z'.repeat(payload.length % 2));
      heard.push(payload.length);
    }
  });
  const seen = await happenings(url, (socket) => {
    for (const length of lengths) socket.send('é'.repeat(length / 2) + 'z'.repeat(length % 2));
    socket.close(1000, 'done');
    assert.throws(() => socket.send('too late'), /not open/);
  });
  assert.deepEqual(heard, lengths);
  assert.deepEqual(seen.at(-1), ['close', 1000, 'done', true]);
});

for (const [what, bytes, code] of [
  ['a masked frame', Buffer.from([0x81, 0x81, 1, 2, 3, 4, 0]), 1002],
  ['an extension', Buffer.from([0xc1, 0x00]), 1002],
  ['an unknown opcode', Buffer.from([0x83, 0x00]), 1002],
  ['a continuation without a message', frame(0x80, 'x'), 1002],
  ['a message inside another', Buffer.concat([frame(0x01, 'x'), frame(0x81, 'y')]), 1002],
  ['a ping in fragments', frame(0x09, 'x'), 1002],
  ['a ping that is too long', frame(0x89, 'x'.repeat(126)), 1002],
  ['half a close code', frame(0x88, 'x'), 1002],
  ['text that is not UTF-8', frame(0x81, Buffer.from([0xc3, 0x28])), 1007],
  ['a reason that is not UTF-8', frame(0x88, Buffer.from([0x03, 0xe8, 0xff])), 1007],
  ['a message that is too large', Buffer.from([0x81, 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), 1009],
] as const) {
  test(`${what} ends the connection with ${code}`, async () => {
    let told = 0;
    const url = await raw(async ({ stream, head, reader }) => {
      stream.write(accepted(head));
      stream.write(Buffer.concat([bytes, text('the rest is not read')]));
      for await (const { opcode, payload } of { [Symbol.asyncIterator]: () => reader }) if (opcode === Opcode.close) told = payload.readUInt16BE(0);
    });
    const seen = await happenings(url);
    assert.ok(!seen.some(([kind]) => kind === 'message'));
    assert.deepEqual(seen.at(-1)!.slice(0, 2), ['close', code]);
    assert.equal(told, code);
  });
}

for (const [what, answer, want] of [
  ['no upgrade', () => 'HTTP/1.1 401 Unauthorized\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n\r\na token please', /HTTP 401: a token please/],
  ['a wrong key', () => 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n', /not that of a WebSocket server/],
  ['a protocol of its own', (head: string) => accepted(head, 'Sec-WebSocket-Protocol: other\r\n'), /protocol that was not offered/],
  ['an extension of its own', (head: string) => accepted(head, 'Sec-WebSocket-Extensions: permessage-deflate\r\n'), /extension that was not offered/],
  ['no HTTP', () => 'SSH-2.0-OpenSSH\r\n', /Parse Error/],
  ['nothing', () => '', /socket hang up|ECONNRESET/],
] as const) {
  test(`a server that answers with ${what} opens nothing`, async () => {
    const url = await raw(({ stream, head }) => stream.end(answer(head)));
    const seen = await happenings(url);
    assert.deepEqual(seen.map(([kind]) => kind), ['error', 'close']);
    assert.match(seen[0]![1] as string, want);
  });
}

test('the end of the stream is the end of the socket', async () => {
  const url = await raw(({ stream, head }) => stream.end(accepted(head)));
  assert.deepEqual((await happenings(url)).at(-1), ['close', 1006, '', false]);
});

test('a socket can be closed before it is open', async () => {
  const url = await raw(() => {});
  const socket = new NodeSocket(url);
  const ended = new Promise((resolve) => (socket.onclose = resolve));
  socket.close();
  assert.equal(((await ended) as { code: number }).code, 1006);
});

test('a server that sends no close frame is disconnected', async () => {
  const url = await raw(({ stream, head }) => stream.write(accepted(head)));
  const seen = await happenings(url, (socket) => socket.close(1000, 'bye'));
  assert.deepEqual(seen.at(-1), ['close', 1000, 'bye', false]);
});

test('the number and size of fragments are limited', () => {
  const many = new FrameReader();
  many.push(frame(0x01, 'x'), () => {});
  assert.throws(() => {
    for (let i = 0; i <= MAX_FRAGMENTS; i++) many.push(frame(0x00, 'x'), () => {});
  }, (error: unknown) => error instanceof FrameError && error.code === 1009);
  const large = new FrameReader(100);
  large.push(frame(0x01, 'x'.repeat(60)), () => {});
  assert.throws(() => large.push(frame(0x80, 'x'.repeat(41)), () => {}), (error: unknown) => error instanceof FrameError && error.code === 1009);
});

test('random bytes result in messages or an error', () => {
  for (let round = 0; round < 3000; round++) {
    const reader = new FrameReader(1000);
    const bytes = randomBytes(1 + (round % 64));
    if (round % 2) bytes[0] = [0x81, 0x01, 0x80, 0x88, 0x89][round % 5]!;
    try {
      for (const byte of bytes) reader.push(Buffer.from([byte]), ({ payload }) => assert.ok(payload.length <= 1000));
    } catch (error) {
      assert.ok(error instanceof FrameError, `${bytes.toString('hex')}: ${error}`);
    }
  }
});

test('an encoded frame can be decoded', () => {
  for (const length of [0, 125, 126, 65_535, 65_536]) {
    const payload = randomBytes(length);
    const written = encodeFrame(Opcode.binary, payload, Buffer.alloc(4));
    written[1]! &= 0x7f; // with a zero mask it is a server's frame except for the four bytes of the mask
    const start = written.length - length;
    const read: Message[] = [];
    new FrameReader().push(Buffer.concat([written.subarray(0, start - 4), written.subarray(start)]), (message) => read.push(message));
    assert.deepEqual(read, [{ opcode: Opcode.binary, payload }]);
  }
});
