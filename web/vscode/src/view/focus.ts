import { effect } from '@preact/signals';
import { current } from '../../../hud/src/store/session.ts';

/**
 * focusPrompt moves the focus to the prompt when no element of a page with the focus has it: whenever the editor focuses the
 * page, as its command and F6 do, and with each other session, whose prompt replaces the one that may have had the focus. With
 * the pointer, the user chooses the element.
 */
export function focusPrompt(): void {
  let waits = document.hasFocus();
  let pressed = false;
  let shown: string | undefined;
  const move = (): void => {
    const prompt = document.getElementById('prompt');
    if (!waits || pressed || !prompt) return;
    waits = false;
    if (document.activeElement === document.body) prompt.focus();
  };
  const press = (): void => {
    pressed = true;
    waits = false;
  };
  addEventListener('pointerdown', press, { capture: true });
  for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => (pressed = false), { capture: true });
  addEventListener('blur', () => (waits = false));
  addEventListener('focus', () => {
    waits = true;
    requestAnimationFrame(move);
  });
  effect(() => {
    const session = current.value;
    if (session?.id !== shown && document.hasFocus()) waits = true;
    shown = session?.id;
    if (session?.phase.value === 'ready') requestAnimationFrame(move);
  });
}
