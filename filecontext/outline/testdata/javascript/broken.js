import x from "./größe.js";

export class Lager {
  füge(a) { return store(a); }
  broken(a, {
    if (a {

  after() { return 1; }
}

function danach(a) {
  return `text ${a
}

const ende = (b) => {
  return [b
