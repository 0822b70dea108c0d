import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";

export interface MenuItem {
  label: string;
  icon: IconName;
  /** Shown, for the user to learn. */
  shortcut?: string;
  disabled?: boolean;
  run: () => void;
}

interface MenuProps {
  label: string;
  items: readonly MenuItem[];
  /** Where it opens, in the viewport. */
  x: number;
  y: number;
  /** chosen tells that an item runs, which decides where the focus goes. */
  onClose: (chosen: boolean) => void;
}

/** Pixels between a menu and the edge of the viewport. */
const MARGIN = 8;

/** A menu. The arrow keys, Home, End and first letters move in it; Escape, Tab and a click outside close it. */
export function Menu({ label, items, x, y, onClose }: MenuProps) {
  const menu = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = menu.current;
    if (!element) return;
    element.style.left = `${Math.max(MARGIN, Math.min(x, innerWidth - element.offsetWidth - MARGIN))}px`;
    element.style.top = `${Math.max(MARGIN, Math.min(y, innerHeight - element.offsetHeight - MARGIN))}px`;
    (enabled(element)[0] ?? element).focus();
  }, [x, y]);
  useEffect(() => {
    const outside = (event: Event): void => {
      if (!menu.current?.contains(event.target as Node)) onClose(false);
    };
    const away = (): void => onClose(false);
    document.addEventListener("pointerdown", outside, true);
    addEventListener("resize", away);
    addEventListener("blur", away);
    return () => {
      document.removeEventListener("pointerdown", outside, true);
      removeEventListener("resize", away);
      removeEventListener("blur", away);
    };
  }, [onClose]);
  const keys = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation();
    if (event.key === "Escape" || event.key === "Tab") onClose(false);
    else if (!move(event.currentTarget, event.key)) return;
    event.preventDefault();
  };
  return (
    <div ref={menu} class="menu" role="menu" aria-label={label} tabIndex={-1} onKeyDown={keys} onContextMenu={(e) => e.preventDefault()}>
      {items.map((item) => (
        <button key={item.label} type="button" role="menuitem" tabIndex={-1} disabled={item.disabled} onClick={() => { onClose(true); item.run(); }}>
          <Icon name={item.icon} />
          <span>{item.label}</span>
          {item.shortcut && <kbd aria-hidden="true">{item.shortcut}</kbd>}
        </button>
      ))}
    </div>
  );
}

const enabled = (menu: HTMLElement): HTMLButtonElement[] => [...menu.querySelectorAll<HTMLButtonElement>("button:not(:disabled)")];

/** move moves the focus by a key, and reports whether the key is one that moves. */
function move(menu: HTMLElement, key: string): boolean {
  const all = enabled(menu);
  const at = all.findIndex((item) => item === document.activeElement);
  const last = all.length - 1;
  const starts = (item: HTMLElement): boolean => item.innerText.trim().toLowerCase().startsWith(key.toLowerCase());
  const to =
    key === "ArrowDown" ? (at + 1) % all.length
    : key === "ArrowUp" ? (at <= 0 ? last : at - 1)
    : key === "Home" ? 0
    : key === "End" ? last
    : key.length === 1 && key !== " " ? (at + 1 + [...all.slice(at + 1), ...all.slice(0, at + 1)].findIndex(starts)) % all.length
    : -1;
  all[to]?.focus();
  return to >= 0;
}
