// Prints the licenses of the packages from which the pages of the extension are built: those of web/hud, which are in
// $NODE_PATH or web/hud/node_modules.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const hud = path.join(import.meta.dirname, '..', 'hud');
const installed = process.env.NODE_PATH || path.join(hud, 'node_modules');
const { packages } = JSON.parse(readFileSync(path.join(hud, 'package-lock.json'), 'utf8'));

console.log('The Strata extension for VS Code contains code of these packages, with their licenses.');
for (const [place, { version, license, dev, optional }] of Object.entries(packages)) {
  const name = place.replace(/^node_modules\//, '');
  if (name === '' || dev || optional) continue;
  const folder = path.join(installed, name);
  const texts = readdirSync(folder).filter((file) => /^licen[cs]e(\.|$)/i.test(file)).map((file) => readFileSync(path.join(folder, file), 'utf8').trim());
  if (texts.length === 0) throw new Error(`${name} has no license file`);
  console.log(`\n${'='.repeat(80)}\n${name} ${version} (${license})\n\n${texts.join('\n\n')}`);
}
