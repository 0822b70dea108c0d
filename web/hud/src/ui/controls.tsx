import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";
import { useModal } from "./modal.ts";
import { failed } from "../store/toasts.ts";
import { noun, plural, tokens } from "../text/format.ts";

interface IconButtonProps {
  icon: IconName;
  label: string;
  onClick: (event: MouseEvent) => void;
  pressed?: boolean;
  /** What the button shows is shown. */
  expanded?: boolean;
  disabled?: boolean;
}

/** A button with an icon. Its label is shown on hover and read by screen readers. */
export function IconButton({ icon, label, onClick, pressed, expanded, disabled }: IconButtonProps) {
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} aria-pressed={pressed} aria-expanded={expanded} disabled={disabled} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

/** A button that copies the result of text to the clipboard and confirms that. */
export function CopyButton({ text, label = "Copy" }: { text: () => string; label?: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = (): void => {
    navigator.clipboard.writeText(text()).then(() => setDone(true), failed("Cannot copy"));
  };
  return <IconButton icon={done ? "check" : "copy"} label={done ? "Copied" : label} onClick={copy} />;
}

interface DialogProps {
  title: string;
  /** Fills the viewport, for long content. */
  large?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

/** A modal dialog. Escape or a click outside closes it. */
export function Dialog({ title, large = false, onClose, children }: DialogProps) {
  return (
    <dialog {...useModal(onClose)} class={large ? "dialog large" : "dialog"} aria-label={title}>
      <div class="dialog-body">
        <header class="dialog-head">
          <h2>{title}</h2>
          <IconButton icon="close" label="Close" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}

/** A progress bar, indeterminate without a value. */
export function Progress({ value, label }: { value: number | undefined; label: string }) {
  return <progress class="progress" aria-label={label} {...(value === undefined ? {} : { value, max: 1 })} />;
}

/** A placeholder for an empty view: its state as the title, and the next step. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** Explains the "~" before figures of a call marked `estimated`. */
export const ESTIMATED = "estimated: the provider reported no usage, or only part of it";

/** An abbreviated number of tokens. The exact number is shown on hover; "~" marks an estimate. */
export function Tokens({ n, estimated = false }: { n: number; estimated?: boolean | undefined }) {
  const exact = plural(n, "token");
  return <span class="tokens" title={estimated ? `${exact}, ${ESTIMATED}` : exact}>{estimated && "~"}{tokens(n)}</span>;
}

/** An abbreviated number of tokens with its noun. */
export function TokenCount({ n }: { n: number }) {
  return <><Tokens n={n} /> {noun(n, "token")}</>;
}

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

/** A button that asks for confirmation in place before it runs its action. */
export function Confirm({ label, about, question, yes, disabled = false, children, onYes }: ConfirmProps) {
  const [asking, setAsking] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const sure = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (asking) sure.current?.focus();
  }, [asking]);
  const leave = (): void => {
    setAsking(false);
    requestAnimationFrame(() => button.current?.focus());
  };
  if (!asking) {
    return (
      <button ref={button} type="button" class="button small" aria-label={about ? `${label}: ${about}` : undefined} disabled={disabled}
        onClick={() => setAsking(true)}>{label}</button>
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
