// The page is built into internal/web/dist, which is committed: go build needs no Node.
export default {
  base: '/',
  build: {
    outDir: '../internal/web/dist',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false }, // its script would stand in the page
    assetsInlineLimit: 0, // nor data: URLs: the policy allows files of this server only
    chunkSizeWarningLimit: 300,
  },
  worker: { format: 'es' },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
}
