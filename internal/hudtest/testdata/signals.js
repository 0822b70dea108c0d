// A stand-in for @preact/signals, so that the tests of single modules need no npm packages.
export const signal = (value) => ({ value, peek() { return this.value; } });

export const computed = (compute) => ({ get value() { return compute(); }, peek: compute });
