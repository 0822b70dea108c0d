/// <reference types="node" />
import type { Article, Price as Amount } from "./article";
import fs, * as path from "node:path";
import legacy = require("./legacy");
import "./polyfill";
export { tax } from "./tax";
export * as rates from './rates.js';

export const MAX_LINES = 200;
export const DEFAULTS: Readonly<Options> = {
  currency: "EUR",
  lines: MAX_LINES,
};
let counter = 0, other: string;
const { a, b } = legacy;

/** What a cart needs. */
export interface Source<T extends object = {}> extends Base, Other<T> {
  readonly name: string;
  load(id: string): Promise<T>;
  find?<K extends keyof T>(key: K, value: T[K]): T | undefined;
}

export type Handler<T> = (event: CustomEvent<T>) => void | Promise<void>;
type Mapped<T> = {
  [K in keyof T]: T[K] extends Function ? never : K;
}[keyof T];

export enum Status { Open = "open", Done = "done" }
declare const enum Flags { None = 0 }

export namespace Shop.Inner {
  export const version = "1";
  export function connect(url: URL): Connection { return openConnection(url); }
  namespace Deep { export class Leaf {} }
}

declare module "shop" {
  export function start(): void;
}
declare global {
  interface Window { cart: Cart<Article> }
}

@Injectable({ providedIn: "root" })
export abstract class Cart<T extends Article> extends Emitter<Events> implements Source<T>, Disposable {
  static #count = 0;
  readonly lines: T[] = [];
  private total?: Amount;

  constructor(private readonly store: Store, @Inject(TOKEN) options = DEFAULTS) {
    super();
  }

  get size(): number { return this.lines.length; }
  set size(value) { resize(this, value); }

  add(line: T): this;
  add(line: T, count: number): this;
  @log()
  add(line: T, count = 1): this {
    return pushLines(this, line, count);
  }

  protected abstract price(line: T): Amount;
  static async *all<U>(this: void): AsyncGenerator<U> {}
  onChange = async (event: Event): Promise<void> => {
    await this.save(event);
  };
  [Symbol.iterator]() { return this.lines[Symbol.iterator](); }
}

export default class extends Cart<Article> {
  price() { return zero; }
}

export function parse(text: string): Cart<Article>;
export function parse(text: Buffer, encoding: string): Cart<Article>;
export function parse(text: any, encoding?: any): any {
  function inner() {}
  return JSON.parse(text);
}

export const größe = <T,>(werte: readonly T[]): number => werte.length;
const handlers = new Map<string, Handler<unknown>>();
export const later = function* named(n: number) { yield n; };
