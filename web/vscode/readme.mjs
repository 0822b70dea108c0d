// Prints README.md as VS Code shows it in a package: without pictures and relative links, which lead nowhere there, and
// without the section for authors. With the name of a section, prints only that section.
import { readFileSync } from 'node:fs';
import path from 'node:path';

const text = readFileSync(path.join(import.meta.dirname, 'README.md'), 'utf8')
  .replace(/<picture>.*?<\/picture>\n\n/gs, '')
  .replace(/\[([^\]]+)\]\((?!https:)[^)]+\)/g, '$1');
const sections = text.split(/^## /m);
const named = (name) => sections.find((section) => section.startsWith(`${name}\n`)) ?? fail(name);
const fail = (name) => { throw new Error(`README.md has no section ${name}`); };

const only = process.argv[2];
const authors = named('Building');
process.stdout.write(only ? `# ${named(only).trimEnd()}\n` : `${sections.filter((section) => section !== authors).join('## ').trimEnd()}\n`);
