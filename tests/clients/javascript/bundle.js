// node bundle.js FOLDER: the page with all that it imports in one script.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const { buildSync } = require("esbuild");

const [folder] = process.argv.slice(2);
const page = path.join(__dirname, "page");
buildSync({
  entryPoints: [path.join(page, "search.js")],
  outdir: folder,
  bundle: true,
  nodePaths: [process.env.NODE_PATH],
  logLevel: "error",
});
fs.copyFileSync(path.join(page, "index.html"), path.join(folder, "index.html"));
