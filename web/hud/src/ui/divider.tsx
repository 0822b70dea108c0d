import type { TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useRef, useState } from "preact/hooks";
import { bounded, type Pane } from "../store/panes.ts";

/** Pixels of one press of an arrow key. */
const STEP = 24;

interface DividerProps {
  pane: Pane;
  label: string;
  /** The side of the divider on which the pane is. */
  side: "left" | "right";
}

/** The movable border of a pane, inside its element, by pointer and by the arrow keys. A double click restores the width. */
export function Divider({ pane, label, side }: DividerProps) {
  const element = useRef<HTMLDivElement>(null);
  const [moving, setMoving] = useState(false);
  const shown = (): number => element.current?.parentElement?.getBoundingClientRect().width ?? pane.min;
  const set = (width: number): void => {
    pane.width.value = bounded(pane, width);
  };
  const keys = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const outward = side === "left" ? "ArrowRight" : "ArrowLeft";
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") set(shown() + (event.key === outward ? STEP : -STEP));
    else if (event.key === "Home") set(pane.min);
    else if (event.key === "End") set(pane.max);
    else if (event.key === "Enter") pane.hidden.value = true;
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const move = (event: TargetedPointerEvent<HTMLDivElement>): void => {
    if (!moving) return;
    const box = element.current?.parentElement?.getBoundingClientRect();
    if (box) set(side === "left" ? event.clientX - box.left : box.right - event.clientX);
  };
  const start = (event: TargetedPointerEvent<HTMLDivElement>): void => {
    event.currentTarget.setPointerCapture(event.pointerId);
    setMoving(true);
  };
  return (
    <div ref={element} class={`divider ${side}${moving ? " moving" : ""}`} role="separator" aria-orientation="vertical" aria-label={`Width: ${label}`} tabIndex={0}
      aria-valuenow={bounded(pane, pane.width.value) || Math.round(shown())} aria-valuemin={pane.min} aria-valuemax={pane.max} title="Drag to resize; Enter hides"
      onKeyDown={keys} onPointerDown={start} onPointerMove={move} onPointerUp={() => setMoving(false)} onPointerCancel={() => setMoving(false)} onDblClick={() => (pane.width.value = 0)} />
  );
}
