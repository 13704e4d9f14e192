// One browser for a run, and what must hold on each page that it opens: no error on the console, no
// request to elsewhere, no serious finding of axe.
import { readFileSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const patience = 30_000 // ms, of each wait

export class Run {
  faults = []
  constructor(url, shots) {
    this.url = url
    this.shots = shots
    if (shots) mkdirSync(shots, { recursive: true })
  }

  async start() {
    this.browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
  }

  async page({ width = 1280, height = 900, theme = 'light', narrow = false } = {}) {
    // axe is put in by the devtools protocol, which the page's policy would refuse.
    const context = await this.browser.newContext({ viewport: narrow ? { width: 390, height: 844 } : { width, height }, colorScheme: theme, bypassCSP: false, timezoneId: 'UTC' })
    const page = await context.newPage()
    page.setDefaultTimeout(patience)
    page.on('console', m => { if (['error', 'warning'].includes(m.type()) && !page.expects?.test(m.text())) this.fault(`console: ${m.text()}`) })
    page.on('pageerror', e => this.fault(`error in the page: ${e.message}`))
    page.on('request', r => { if (!r.url().startsWith(this.url + '/') && !r.url().startsWith('data:')) this.fault(`a request to elsewhere: ${r.url()}`) })
    return page
  }

  fault(text) {
    this.faults.push(text)
    console.log('FAULT ' + text)
  }

  check(holds, text) { if (!holds) this.fault(text) }

  async axe(page, name) {
    await page.evaluate(axe)
    const { violations } = await page.evaluate(() => window.axe.run())
    for (const v of violations) if (['serious', 'critical'].includes(v.impact)) this.fault(`${name}: axe ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')}`)
  }

  async shot(page, name) { if (this.shots) await page.screenshot({ path: join(this.shots, name + '.png') }) }

  async end() {
    await this.browser.close()
    console.log(this.faults.length ? `${this.faults.length} faults` : 'ok')
    process.exit(this.faults.length ? 1 : 0)
  }
}
