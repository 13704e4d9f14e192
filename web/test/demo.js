// demo.js URL [SHOTS]: the controller of the fleet's demo at its end, as the README shows it.
import { Run } from './browser.js'

const [url, shots] = process.argv.slice(2)
const run = new Run(url, shots)
await run.start()
const page = await run.page({ height: 800 })
await page.goto(url + '/#/chi')
await page.waitForSelector('.parts li')
await page.waitForTimeout(1000) // the curves
await run.shot(page, 'demo-overview')
await page.goto(url + '/#/chi/networks')
await page.waitForSelector('.spark path')
await page.waitForTimeout(1000)
await run.shot(page, 'demo-networks')
await run.end()
