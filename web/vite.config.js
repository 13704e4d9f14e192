import { readFileSync } from 'node:fs'

const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url)))

// What is shipped has its licence beside it, as that asks.
const licences = {
  name: 'licences',
  generateBundle() {
    const texts = Object.entries(dependencies).map(([name, version]) => `${name} ${version}\n\n${readFileSync(new URL(`node_modules/${name}/LICENSE`, import.meta.url), 'utf8').trim()}\n`)
    this.emitFile({ type: 'asset', fileName: 'licences.txt', source: texts.join('\n\n') })
  },
}

// The page is built into internal/web/dist, which is committed: go build needs no Node.
export default {
  base: '/',
  plugins: [licences],
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
