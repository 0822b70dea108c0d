/** Encoding and decoding of RFC 6455 frames for a client. */

export const Opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** The maximum size of a received message, in bytes. The server's frames are far smaller. */
export const MAX_MESSAGE = 32 << 20;

/** The maximum number of fragments of a message. */
export const MAX_FRAGMENTS = 65_536;

/** The maximum payload of a control frame, in bytes. */
const MAX_CONTROL = 125;

/** A violation of the protocol, with the code for closing the connection. */
export class FrameError extends Error {
  constructor(
    readonly code: 1002 | 1007 | 1009,
    message: string,
  ) {
    super(message);
  }
}

export interface Message {
  opcode: number;
  payload: Buffer;
}

/** Encodes a message as a single frame. `mask` is four random bytes. */
export function encodeFrame(opcode: number, payload: Buffer, mask: Buffer): Buffer {
  const length = payload.length;
  const extended = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const start = 2 + extended + 4;
  const frame = Buffer.allocUnsafe(start + length);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (extended === 0 ? length : extended === 2 ? 126 : 127);
  if (extended === 2) frame.writeUInt16BE(length, 2);
  if (extended === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  mask.copy(frame, start - 4);
  for (let i = 0; i < length; i++) frame[start + i] = payload[i]! ^ mask[i & 3]!;
  return frame;
}

interface Header {
  fin: boolean;
  opcode: number;
  size: number;
  length: number;
}

/**
 * Decodes messages from a stream. It joins fragments, which may be interleaved with control frames. `push` throws
 * `FrameError` if the server violates the protocol, and must not be called afterwards.
 */
export class FrameReader {
  #chunks: Buffer[] = [];
  #buffered = 0;
  #wanted = 2;
  #parts: Buffer[] = [];
  #partsLength = 0;
  #opcode = 0;
  readonly #maxMessage: number;

  constructor(maxMessage: number = MAX_MESSAGE) {
    this.#maxMessage = maxMessage;
  }

  /** Adds the next bytes of the stream and calls `deliver` for each completed message. */
  push(chunk: Buffer, deliver: (message: Message) => void): void {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    while (this.#buffered >= this.#wanted) {
      const data = this.#gather();
      const header = this.#header(data);
      if (!header) continue;
      this.#wanted = header.size + header.length;
      if (data.length < this.#wanted) continue;
      const payload = data.subarray(header.size, this.#wanted);
      this.#keep(data.subarray(this.#wanted));
      this.#frame(header, payload, deliver);
    }
  }

  /** Returns all buffered bytes in one buffer. */
  #gather(): Buffer {
    const data = joined(this.#chunks);
    this.#chunks = [data];
    return data;
  }

  #keep(rest: Buffer): void {
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#buffered = rest.length;
    this.#wanted = 2;
  }

  /** Decodes the header; if it is incomplete, sets the number of bytes needed and returns null. */
  #header(data: Buffer): Header | null {
    const first = data[0]!;
    const second = data[1]!;
    if (first & 0x70) throw new FrameError(1002, 'a frame with an extension that was not negotiated');
    if (second & 0x80) throw new FrameError(1002, 'a masked frame from the server');
    const short = second & 0x7f;
    const size = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (data.length < size) {
      this.#wanted = size;
      return null;
    }
    const length = short < 126 ? short : short === 126 ? data.readUInt16BE(2) : long(data);
    const header = { fin: (first & 0x80) !== 0, opcode: first & 0x0f, size, length };
    this.#check(header);
    return header;
  }

  #check({ fin, opcode, length }: Header): void {
    const inMessage = this.#opcode !== 0;
    switch (opcode) {
      case Opcode.continuation:
        if (!inMessage) throw new FrameError(1002, 'a continuation without a message');
        break;
      case Opcode.text:
      case Opcode.binary:
        if (inMessage) throw new FrameError(1002, 'a message inside another');
        break;
      case Opcode.close:
      case Opcode.ping:
      case Opcode.pong:
        if (!fin || length > MAX_CONTROL) throw new FrameError(1002, 'a control frame that is too long or fragmented');
        return;
      default:
        throw new FrameError(1002, `a frame with the unknown opcode ${opcode}`);
    }
    if (this.#partsLength + length > this.#maxMessage) {
      throw new FrameError(1009, `a message of more than ${this.#maxMessage} bytes`);
    }
  }

  #frame({ fin, opcode }: Header, payload: Buffer, deliver: (message: Message) => void): void {
    if (opcode >= Opcode.close) return deliver({ opcode, payload });
    if (opcode !== Opcode.continuation) this.#opcode = opcode;
    this.#add(payload);
    if (!fin) return;
    const message = { opcode: this.#opcode, payload: joined(this.#parts) };
    this.#parts = [];
    this.#partsLength = 0;
    this.#opcode = 0;
    deliver(message);
  }

  /** Adds a fragment. Empty ones are dropped, so that they use no memory. */
  #add(payload: Buffer): void {
    if (payload.length === 0) return;
    if (this.#parts.length === MAX_FRAGMENTS) throw new FrameError(1009, `a message in more than ${MAX_FRAGMENTS} fragments`);
    this.#parts.push(payload);
    this.#partsLength += payload.length;
  }
}

function joined(parts: Buffer[]): Buffer {
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

function long(data: Buffer): number {
  const length = data.readBigUInt64BE(2);
  return length > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(length);
}
