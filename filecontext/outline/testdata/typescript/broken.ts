import { A } from "./größen";

export interface Übersicht {
  titel(): string;
}

export class Lager<T> {
  füge(artikel: T): void {
    this.liste.push(artikel);
  }

  broken(a: string, {
    if (a {
      return

  after(): number { return countAll(this); }
}

export function danach(x: Maß): Länge {
  return measure(x);
}

export const letzte = (a: number) => {
  return [a,
