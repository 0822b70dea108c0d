#!/usr/bin/env node
'use strict';

const http = require('http');
const { readFile } = require("fs/promises"), path = require('node:path');
require('./setup');
import fetch from 'node-fetch';
export { a, b as c } from './shared.mjs';

var PORT = process.env.PORT || 8080;
const routes = {
  '/': home,
};

class Router extends EventEmitter {
  static instance = null;
  #routes = new Map();

  constructor(options = {}) {
    super(options);
  }

  get size() { return this.#routes.size; }
  async handle(req, res, { timeout = 10, ...rest } = {}) {
    return dispatch(this, req, res);
  }
  static async *entries() {}
  onError = (error) => {
    logError(error);
  };
  #hidden() {}
}

function home(req, res) {
  function nested() {}
  res.end(renderPage('home'));
}

async function* lines(stream) {
  for await (const chunk of stream) yield* splitLines(chunk);
}

const größe = werte => werte.length;
const Named = class extends Router {
  own() {}
};
let View = () => <Layout title="x">{routes}</Layout>;

exports.start = function (port) {
  http.createServer(home).listen(port);
};
module.exports.stop = async () => stopAll();
Router.prototype.extra = function extra(a, b) { return a + b; };
module.exports = Router;

(function () {
  var hidden = 1;
})();

export default async function (req) {
  return new Router();
}
