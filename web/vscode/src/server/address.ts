/** Returns the address of a server as `ws:` or `wss:` URL with its path, undefined if the text is none. */
export function addressOf(text: string): string | undefined {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return undefined;
  }
  const scheme = { 'ws:': 'ws:', 'wss:': 'wss:', 'http:': 'ws:', 'https:': 'wss:' }[url.protocol];
  if (scheme === undefined || url.hostname === '' || url.username !== '' || url.password !== '') return undefined;
  return `${scheme}//${url.host}${url.pathname === '/' ? '/acp' : url.pathname}`;
}

/** Returns whether nobody else can read what is sent to an address: it is encrypted, or does not leave this machine. */
export function isPrivate(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'wss:' || protocol === 'https:' || hostname === '[::1]' || /^(?:.+\.)?localhost$|^127(?:\.\d+){3}$/.test(hostname);
}
