// Bundles the browser's code of the panels into one module, which is kept in the repository: who
// installs or checks out the project needs no Node.
//   npm run build      write it anew
//   npm run check      lint the sources, and fail if the bundle is not what they give
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const SOURCES = "explorer/panels/front";
const BUNDLE = `${SOURCES}/bundle/panel.js`;

// Of all sources in the order of their names: by it a test without Node tells an old bundle.
const digest = createHash("sha256");
for (const name of readdirSync(SOURCES).filter((one) => one.endsWith(".js")).sort()) {
  digest.update(readFileSync(`${SOURCES}/${name}`));
}
const { outputFiles } = await build({
  entryPoints: [`${SOURCES}/panel.js`],
  bundle: true,
  format: "esm",
  minify: true,
  target: "es2022",
  charset: "utf8",
  write: false,
  banner: { js: `// Made by "npm run build" from sources of sha256 ${digest.digest("hex")}` },
});
const made = outputFiles[0].text;
if (!process.argv.includes("--check")) writeFileSync(BUNDLE, made);
else if (readFileSync(BUNDLE, "utf8") !== made) {
  process.stderr.write(`${BUNDLE} is not what its sources give: run "npm run build".\n`);
  process.exitCode = 1;
}
