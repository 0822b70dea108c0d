/** The name of the project's folder, which is on no disk. */
export const FOLDER = '/example';

/** The files of the project before they are edited. */
export const PROJECT = {
  'main.js': `import { add, total } from './cart.js';
import { format } from './money.js';

const cart = [];
add(cart, 'Tea', 450, 2);
add(cart, 'Cup', 1290);
console.log('Total: ' + format(total(cart)));
`,
  'cart.js': `/** Adds an article to a cart. Prices are in cents. */
export function add(cart, name, price, count = 1) {
  cart.push({ name, price, count });
}

/** Returns the sum of a cart, in cents. */
export function total(cart) {
  let sum = 0;
  for (const { price } of cart) {
    sum += price;
  }
  return sum;
}
`,
  'money.js': `/** Formats an amount in cents. */
export function format(cents) {
  return '$' + cents / 100;
}
`,
  'README.md': `# Shop

A cart with prices in cents.

- The total ignores the count of an article.
- $12.90 is shown as $12.9.
`,
};
