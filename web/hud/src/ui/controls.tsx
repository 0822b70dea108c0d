import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
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

/** Closes the open dialog; null for none. */
let closeOpen: (() => void) | null = null;

/** useOnly closes the dialog that is open when another one opens. */
function useOnly(onClose: () => void): void {
  const last = useRef(onClose);
  last.current = onClose;
  useLayoutEffect(() => {
    const close = (): void => last.current();
    closeOpen?.();
    closeOpen = close;
    return () => {
      if (closeOpen === close) closeOpen = null;
    };
  }, []);
}

/** A modal dialog. Escape, a click outside, or another dialog closes it. */
export function Dialog({ title, large = false, onClose, children }: DialogProps) {
  useOnly(onClose);
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

export { Confirm } from "./confirm.tsx";
