import type { ComponentChildren, TargetedMouseEvent } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";
import { failed } from "../store/toasts.ts";
import { plural, tokens } from "../text/format.ts";

interface IconButtonProps {
  icon: IconName;
  label: string;
  onClick: (event: MouseEvent) => void;
  pressed?: boolean;
  disabled?: boolean;
}

/** A button that is an icon; its label is read and shown on hover. */
export function IconButton({ icon, label, onClick, pressed, disabled }: IconButtonProps) {
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} aria-pressed={pressed} disabled={disabled} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

/** Copies what text returns, and says that it did. */
export function CopyButton({ text, label = "Copy" }: { text: () => string; label?: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = (): void => {
    navigator.clipboard.writeText(text()).then(() => setDone(true), failed("It could not be copied"));
  };
  return <IconButton icon={done ? "check" : "copy"} label={done ? "Copied" : label} onClick={copy} />;
}

interface DialogProps {
  title: string;
  /** As wide and high as there is room, for what is long. */
  large?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

/** A modal dialog; Escape and a click beside it close it. */
export function Dialog({ title, large = false, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const beside = (event: TargetedMouseEvent<HTMLDialogElement>): void => {
    if (event.target === event.currentTarget) onClose();
  };
  const cancel = (event: Event): void => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog ref={element} class={large ? "dialog large" : "dialog"} aria-label={title} onClick={beside} onCancel={cancel}>
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

/** A bar of progress; without a value it only says that something goes on. */
export function Progress({ value, label }: { value: number | undefined; label: string }) {
  return <progress class="progress" aria-label={label} {...(value === undefined ? {} : { value, max: 1 })} />;
}

/** What is shown where there is nothing: what it is, and what to do next. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** A number of tokens in few letters; the exact one is shown on hover. */
export function Tokens({ n }: { n: number }) {
  return <span class="tokens" title={plural(n, "token")}>{tokens(n)}</span>;
}

interface ConfirmProps {
  /** What the button says. */
  label: string;
  /** For whoever does not see what it stands beside. */
  about?: string;
  question: string;
  /** What the button says that does it. */
  yes: string;
  disabled?: boolean;
  onYes: () => void;
}

/** A button that asks in its own place before it does what it says. */
export function Confirm({ label, about, question, yes, disabled = false, onYes }: ConfirmProps) {
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
      <button ref={sure} type="button" class="button small primary" disabled={disabled} onClick={() => { leave(); onYes(); }}>{yes}</button>
      <button type="button" class="button small" onClick={leave}>Cancel</button>
    </span>
  );
}
