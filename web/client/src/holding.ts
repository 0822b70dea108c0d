import type { Listener } from './subscription.js';
import type { Position } from './protocol.js';

/**
 * Keeps the subscription to a session whose files this client has, because the server asks only subscribed clients for
 * files. It ends with the session or the client.
 */
export class Holding implements Listener {
  position: Position | null = null;

  snapshot(): void {}
  update(): void {}
  event(): void {}
  ended(): void {}
}
