import { effect } from '@preact/signals';
import { current } from '../../../hud/src/store/session.ts';

/**
 * focusPrompt moves the focus to the prompt whenever the editor focuses the page and no element has the focus, as its command
 * and F6 do. With the pointer, the user chooses the element.
 */
export function focusPrompt(): void {
  let waits = document.hasFocus();
  let pressed = false;
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
  addEventListener('pointerup', () => (pressed = false), { capture: true });
  addEventListener('blur', () => (waits = false));
  addEventListener('focus', () => {
    waits = true;
    requestAnimationFrame(move);
  });
  effect(() => {
    if (current.value?.phase.value === 'ready') requestAnimationFrame(move);
  });
}
