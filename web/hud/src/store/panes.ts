import { signal, type Signal } from "@preact/signals";
import { setting } from "./remembered.ts";

/** Pane is a column of the page that can be resized and hidden. The browser remembers both. */
export interface Pane {
  /** In pixels; 0 until the user chooses one. What is stored can be any number. */
  width: Signal<number>;
  hidden: Signal<boolean>;
  min: number;
  max: number;
}

const pane = (name: string, min: number, max: number): Pane => ({ width: setting(`${name} width`, 0), hidden: setting(`${name} hidden`, false), min, max });

/** The list of sessions, and the inspector. */
export const sidebar = pane("sidebar", 200, 480);
export const inspector = pane("inspector", 320, 1200);

/** The list of sessions is shown over a narrow page. */
export const drawer = signal(false);

/** bounded returns a width within the bounds of a pane; 0 if none is chosen. */
export const bounded = (of: Pane, width: number): number => (width > 0 ? Math.round(Math.min(Math.max(width, of.min), of.max)) : 0);
