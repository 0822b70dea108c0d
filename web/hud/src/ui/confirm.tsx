import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { answered, ask, asks } from "../store/confirming.ts";

interface ConfirmProps {
  /** The text of the button. */
  label: string;
  /** The object of the action, for screen readers. */
  about?: string;
  question: string;
  /** The text of the confirming button. */
  yes: string;
  disabled?: boolean;
  /** What can be chosen with the question. */
  children?: ComponentChildren;
  onYes: () => void;
}

/** A button of an action that cannot be undone: it asks for confirmation in place. Another question closes this one. */
export function Confirm({ label, about, question, yes, disabled = false, children, onYes }: ConfirmProps) {
  const own = useRef({}).current;
  const open = asks(own);
  const button = useRef<HTMLButtonElement>(null);
  const sure = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (open) sure.current?.focus();
  }, [open]);
  useEffect(() => () => answered(own), []);
  const leave = (): void => {
    answered(own);
    requestAnimationFrame(() => button.current?.focus());
  };
  if (!open) {
    return (
      <button ref={button} type="button" class="button small" aria-label={about ? `${label}: ${about}` : undefined} disabled={disabled}
        onClick={() => ask(own)}>{label}</button>
    );
  }
  return (
    <span class="confirm" role="group" aria-label={question} onKeyDown={(e) => { if (e.key === "Escape") { e.stopPropagation(); leave(); } }}>
      <span>{question}</span>
      {children}
      <button ref={sure} type="button" class="button small primary" disabled={disabled} onClick={() => { leave(); onYes(); }}>{yes}</button>
      <button type="button" class="button small" onClick={leave}>Cancel</button>
    </span>
  );
}
