import { createHash, randomBytes } from 'node:crypto';
import { request as requestHTTP, type IncomingMessage } from 'node:http';
import { request as requestHTTPS } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Socket } from './api.js';
import { encodeFrame, FrameError, FrameReader, Opcode, type Message } from './frames.js';

/** RFC 6455, section 1.3. */
const KEY_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** The maximum time for the server to end the TCP connection after the closing handshake, in milliseconds. */
const CLOSE_TIMEOUT = 1_000;

/** The idle time before a TCP keep-alive probe, in milliseconds. */
const KEEP_ALIVE = 20_000;

/** The maximum part of a refusal's body that is read, in bytes. */
const MAX_REFUSAL = 1_024;

type Handler = ((event: any) => void) | null;

/**
 * A WebSocket for Node versions without one: the part of the browser's interface that this library uses. In addition, it
 * can send headers, and an error event has the HTTP status of a refusal. Events are emitted synchronously, in the order of
 * the frames.
 */
export class NodeSocket implements Socket {
  onopen: Handler = null;
  onmessage: Handler = null;
  onerror: Handler = null;
  onclose: Handler = null;

  readonly #protocols: string[];
  readonly #reader = new FrameReader();
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  readonly #abort = new AbortController();
  #stream: Duplex | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sentClose = false;
  #gotClose = false;
  #ended = false;
  #code = 1006;
  #reason = '';

  constructor(url: string, protocols: string | string[] = [], headers: Record<string, string> = {}) {
    this.#protocols = [protocols].flat();
    const key = randomBytes(16).toString('base64');
    const target = new URL(url);
    const secure = target.protocol === 'wss:';
    target.protocol = secure ? 'https:' : 'http:';
    const request = (secure ? requestHTTPS : requestHTTP)(target, {
      agent: false,
      signal: this.#abort.signal,
      headers: {
        ...headers,
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Key': key,
        'Sec-WebSocket-Version': '13',
        ...(this.#protocols.length > 0 ? { 'Sec-WebSocket-Protocol': this.#protocols.join(', ') } : {}),
      },
    });
    request.on('upgrade', (response, stream, head) => this.#upgraded(response, stream, head, key));
    request.on('response', (response) => this.#refused(response));
    request.on('error', (error) => this.#fail(error.message));
    request.end();
  }

  send(data: string): void {
    if (!this.#stream || this.#sentClose) throw new Error('the WebSocket is not open');
    this.#write(Opcode.text, Buffer.from(data, 'utf8'));
  }

  close(code = 1000, reason = ''): void {
    if (this.#ended) return;
    if (!this.#stream) {
      this.#abort.abort();
      return this.#end();
    }
    this.#code = code;
    this.#reason = reason;
    this.#sendClose(code, reason);
  }

  #upgraded(response: IncomingMessage, stream: Duplex, head: Buffer, key: string): void {
    const fault = this.#handshakeFault(response, key);
    if (fault || this.#ended) {
      stream.destroy();
      return this.#fail(fault ?? 'closed');
    }
    this.#stream = stream;
    if ('setKeepAlive' in stream) (stream as import('node:net').Socket).setKeepAlive(true, KEEP_ALIVE).setNoDelay(true);
    if (head.length > 0) stream.unshift(head);
    stream.on('error', (error) => this.#emit('onerror', { message: error.message }));
    stream.on('end', () => stream.end());
    stream.on('close', () => this.#end());
    this.#emit('onopen', {});
    // Code that awaits the opening runs before the first message is emitted.
    setImmediate(() => stream.on('data', (chunk: Buffer) => this.#receive(chunk)));
  }

  #handshakeFault(response: IncomingMessage, key: string): string | undefined {
    const accept = createHash('sha1').update(key + KEY_SUFFIX).digest('base64');
    const protocol = response.headers['sec-websocket-protocol'];
    if (response.headers.upgrade?.toLowerCase() !== 'websocket' || response.headers['sec-websocket-accept'] !== accept) {
      return 'the response to the upgrade is not that of a WebSocket server';
    }
    if (response.headers['sec-websocket-extensions']) return 'the server chose an extension that was not offered';
    if (protocol !== undefined && !this.#protocols.includes(protocol)) return 'the server chose a protocol that was not offered';
    return undefined;
  }

  /** Reports why the server did not upgrade: the status and the first line of the body. */
  #refused(response: IncomingMessage): void {
    const status = response.statusCode ?? 0;
    let body = '';
    const report = () => {
      const [line = ''] = body.trim().split('\n', 1);
      const isText = response.headers['content-type']?.startsWith('text/plain');
      this.#fail(`the server refused the connection with HTTP ${status}${isText && line ? `: ${line}` : ''}`, status);
      response.destroy();
    };
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      body += text;
      if (body.length >= MAX_REFUSAL) report();
    });
    response.on('end', report);
    response.on('error', report);
  }

  #receive(chunk: Buffer): void {
    if (this.#gotClose || this.#ended) return;
    try {
      this.#reader.push(chunk, (message) => this.#deliver(message));
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#protocolError(error);
    }
  }

  #deliver({ opcode, payload }: Message): void {
    if (this.#gotClose) return;
    switch (opcode) {
      case Opcode.text:
        return this.#emit('onmessage', { data: this.#text(payload) });
      case Opcode.binary:
        return this.#emit('onmessage', { data: payload });
      case Opcode.ping:
        if (!this.#sentClose) this.#write(Opcode.pong, payload);
        return;
      case Opcode.close:
        return this.#closeReceived(payload);
    }
  }

  #text(payload: Buffer): string {
    try {
      return this.#decoder.decode(payload);
    } catch {
      throw new FrameError(1007, 'text that is not UTF-8');
    }
  }

  #closeReceived(payload: Buffer): void {
    if (payload.length === 1) throw new FrameError(1002, 'a close frame with an incomplete code');
    const code = payload.length === 0 ? 1005 : payload.readUInt16BE(0);
    const reason = this.#text(payload.subarray(2));
    this.#gotClose = true;
    if (!this.#sentClose) {
      this.#code = code;
      this.#reason = reason;
      this.#sendClose(code === 1005 ? 1000 : code, '');
    }
    this.#stream?.end();
  }

  #protocolError(error: FrameError): void {
    this.#emit('onerror', { message: `the server sent ${error.message}` });
    this.#code = error.code;
    this.#reason = error.message;
    this.#gotClose = true; // the rest of the stream cannot be decoded
    this.#sendClose(error.code, error.message);
    this.#stream?.end();
  }

  #sendClose(code: number, reason: string): void {
    if (this.#sentClose) return;
    const payload = Buffer.alloc(2 + Math.min(Buffer.byteLength(reason), 123));
    payload.writeUInt16BE(code, 0);
    payload.write(reason, 2);
    this.#write(Opcode.close, payload);
    this.#sentClose = true;
    this.#timer = setTimeout(() => this.#stream?.destroy(), CLOSE_TIMEOUT);
  }

  #write(opcode: number, payload: Buffer): void {
    this.#stream?.write(encodeFrame(opcode, payload, randomBytes(4)));
  }

  #fail(message: string, status?: number): void {
    if (this.#ended) return;
    this.#emit('onerror', status === undefined ? { message } : { message, status });
    this.#end();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#emit('onclose', { code: this.#code, reason: this.#reason, wasClean: this.#gotClose });
  }

  #emit(handler: 'onopen' | 'onmessage' | 'onerror' | 'onclose', event: object): void {
    this[handler]?.(event);
  }
}
