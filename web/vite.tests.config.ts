// Unit tests as programs for Node's own test runner, which reads no TypeScript.
import { readdirSync } from "node:fs";
import { defineConfig } from "vite";

const tests = readdirSync(new URL("tests", import.meta.url)).filter((name) => name.endsWith(".test.ts"));

export default defineConfig({
  build: {
    outDir: "tests-built",
    target: "node18",
    ssr: true,
    minify: false,
    reportCompressedSize: false,
    rollupOptions: {
      input: Object.fromEntries(tests.map((name) => [name.slice(0, -3), `tests/${name}`])),
      output: { entryFileNames: "[name].mjs" },
    },
  },
});
