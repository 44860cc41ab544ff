import { defineConfig, type Plugin } from "vite";

// The icon, which both pages carry inside so that no browser asks for a file of it.
const icon = /<link rel="icon"[^>]*>/;

/** Writes report.html beside the dashboard: the same bundle with everything inside, and a place for documents. */
function report(): Plugin {
  return {
    name: "report",
    enforce: "post",
    generateBundle(_options, bundle) {
      const files = Object.values(bundle);
      const script = files.find((file) => file.type === "chunk" && file.isEntry);
      const styles = files.find((file) => file.type === "asset" && file.fileName.endsWith(".css"));
      const page = bundle["index.html"];
      if (script?.type !== "chunk" || styles?.type !== "asset" || page?.type !== "asset") {
        this.error("the dashboard's script, styles or page is missing from the bundle");
      }
      // Inside a page nothing may end the script but its own tag, nor begin a comment that hides it.
      const code = script.code.replaceAll("</script", "<\\/script").replaceAll("<!--", "\\x3C!--");
      const link = icon.exec(String(page.source))?.[0] ?? "";
      // The policy lets nothing be fetched: what a report shows is in its one file.
      const source = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<title>Perjoule report</title>
${link}
<style>${String(styles.source).trim()}</style>
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript. The documents that it shows are at its end, as JSON.</noscript>
<script type="application/json" id="documents">[]</script>
<script type="module">${code.trim()}</script>
</body>
</html>
`;
      this.emitFile({ type: "asset", fileName: "report.html", source });
    },
  };
}

export default defineConfig({
  // Relative, so that the page works below any path of a proxy.
  base: "./",
  plugins: [report()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
