// Bundles the browser's code of the panels into one module, and with the gallery into another; both
// are kept in the repository: who installs or checks out the project needs no Node.
//   npm run build      write it anew
//   npm run check      lint the sources, and fail if the bundle is not what they give
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const SOURCES = "explorer/panels/front";

// Of all sources in the order of their names: by it a test without Node tells an old bundle.
const digest = createHash("sha256");
for (const name of readdirSync(SOURCES)
  .filter((one) => /\.js(on)?$/.test(one))
  .sort()) {
  digest.update(readFileSync(`${SOURCES}/${name}`));
}
const banner = `// Made by "npm run build" from sources of sha256 ${digest.digest("hex")}`;
for (const name of ["panel", "gallery"]) {
  const bundle = `${SOURCES}/bundle/${name}.js`;
  const { outputFiles } = await build({
    entryPoints: [`${SOURCES}/${name}.js`],
    bundle: true,
    format: "esm",
    minify: true,
    target: "es2022",
    charset: "utf8",
    write: false,
    banner: { js: banner },
  });
  const made = outputFiles[0].text;
  if (!process.argv.includes("--check")) writeFileSync(bundle, made);
  else if (readFileSync(bundle, "utf8") !== made) {
    process.stderr.write(`${bundle} is not what its sources give: run "npm run build".\n`);
    process.exitCode = 1;
  }
}
