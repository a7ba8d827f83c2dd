import { loadEnv } from "vite";
import { defineConfig } from "vitest/config";

/** Built files go into the Python package, which serves them: users never need Node. */
export default defineConfig(({ mode }) => {
  const api = loadEnv(mode, ".", "VITE_").VITE_API ?? "http://127.0.0.1:8000";
  return {
    // Relative addresses, so that the page also works behind a proxy under a path of its own.
    base: "./",
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      outDir: "../src/translucid/serving/static",
      emptyOutDir: true,
      target: ["chrome123", "firefox128", "safari17.5"],
      // The page's policy allows neither inline scripts nor styles, and needs no polyfills.
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      // One script and one style sheet, which Python puts into saved pages (interpret/page.py).
      cssCodeSplit: false,
      rolldownOptions: { output: { codeSplitting: false } },
      reportCompressedSize: true,
    },
    server: {
      host: "127.0.0.1",
      proxy: Object.fromEntries(["/v1", "/docs", "/openapi.json"].map((path) => [path, api])),
    },
    test: {
      include: ["src/**/*.test.ts", "src/**/*.test.tsx"],
      environment: "node",
      // A thread of its own for every file, which starts faster than a process.
      pool: "threads",
      css: true,
    },
  };
});
