import type { RefObject, TargetedMouseEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface Modal {
  ref: RefObject<HTMLDialogElement | null>;
  onClick: (event: TargetedMouseEvent<HTMLDialogElement>) => void;
  onCancel: (event: Event) => void;
}

/** useModal returns the properties of a modal dialog. Escape or a click outside closes it; then the focus returns. */
export function useModal(onClose: () => void): Modal {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return {
    ref,
    onClick: (event) => {
      if (event.target === event.currentTarget) onClose();
    },
    onCancel: (event) => {
      event.preventDefault();
      onClose();
    },
  };
}
