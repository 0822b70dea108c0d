/**
 * workerFrom returns a function that starts a worker from a script of the extension. A page can start workers of its own
 * origin only, and the extension's files have another: the script is loaded once and becomes a blob.
 */
export async function workerFrom(address: string | undefined): Promise<() => Worker> {
  if (address === undefined) throw new Error('no address of the worker');
  const response = await fetch(address);
  if (!response.ok) throw new Error(`the worker cannot be loaded: HTTP ${response.status}`);
  const blob = URL.createObjectURL(new Blob([await response.text()], { type: 'text/javascript' }));
  return () => new Worker(blob, { type: 'module' });
}
