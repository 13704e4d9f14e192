// many.js URL [SHOTS]: loads 100,000 networks, sorts, filters and scrolls, and prints the longest time
// between two frames of each.
import { Run } from './browser.js'

const [url, shots] = process.argv.slice(2)
const run = new Run(url, shots)
await run.start()
const page = await run.page()
await page.addInitScript(() => {
  let last = performance.now()
  window.longest = 0
  const frame = now => { window.longest = Math.max(window.longest, now - last); last = now; requestAnimationFrame(frame) }
  requestAnimationFrame(frame)
})
const took = async (name, act, done) => {
  await page.evaluate(() => { window.longest = 0 })
  const began = Date.now()
  await act()
  await done()
  console.log(`${name}: ${Date.now() - began} ms, longest frame ${Math.round(await page.evaluate(() => window.longest))} ms`)
}
const status = text => page.waitForFunction(t => document.querySelector('[role=status]')?.textContent.includes(t), text)
const top = async () => page.locator('.grid-row').first().innerText()
const changes = async before => page.waitForFunction(b => document.querySelector('.grid-row')?.innerText !== b, before)

await page.goto(url)
await page.waitForSelector('.card')
await took('load', () => page.keyboard.press('2'), () => status('100,000 networks'))
for (const column of ['Rate', 'Conns', 'State', 'Gain', 'Network']) {
  const before = await top()
  await took(`sort by ${column}`, () => page.getByRole('button', { name: column, exact: true }).click(), () => changes(before))
}
await took('filter', () => page.getByLabel('Find networks').fill('20.1.7'), () => status(' of 100,000'))
await page.getByLabel('Find networks').fill('')
await status('100,000 networks')
await took('scroll to the end', async () => {
  for (let i = 1; i <= 20; i++) {
    await page.evaluate(part => { const g = document.querySelector('.grid-body'); g.scrollTop = g.scrollHeight * part }, i / 20)
    await page.waitForTimeout(30)
  }
}, () => page.waitForFunction(() => document.querySelector('.grid-row[aria-rowindex="100001"]')))
const nodes = await page.evaluate(() => document.querySelectorAll('.grid-row').length)
run.check(nodes < 300, `${nodes} rows are in the page`)
await run.shot(page, 'many')
await run.end()
