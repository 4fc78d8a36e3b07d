// The page as plimsoll serves it: one script and one style sheet, with relative addresses, so that it works below any path.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  build: {
    outDir: "dist",
    target: "es2022",
    assetsInlineLimit: 0, // the server's Content-Security-Policy permits no inline data
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
