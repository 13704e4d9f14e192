// many.js URL [SHOTS]: it loads 100,000 networks, sorts, filters and scrolls, and prints of each the longest time between
// two frames, which depends on what else the machine does, and the most processor time that a task of the page took. As the
// browser runs, that must leave room in a frame of 100 ms; it is also printed with a processor that is four times slower.
import { Run } from './browser.js'

const [url, shots] = process.argv.slice(2)
const run = new Run(url, shots)
await run.start()

// longestOf is the most processor time, in ms, that a task of a page's main thread took.
function longestOf(events) {
  const main = new Set(events.filter(e => e.name === 'thread_name' && e.args.name === 'CrRendererMain').map(e => `${e.pid} ${e.tid}`))
  return Math.max(0, ...events.filter(e => e.tdur && main.has(`${e.pid} ${e.tid}`)).map(e => Math.round(e.tdur / 1000)))
}

async function all(slower) {
  const page = await run.page()
  await page.addInitScript(() => {
    window.frame = 0
    let last = performance.now()
    const frame = now => { window.frame = Math.max(window.frame, now - last); last = now; requestAnimationFrame(frame) }
    requestAnimationFrame(frame)
  })
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: slower })
  const took = async (name, act, done) => {
    await page.evaluate(() => { window.frame = 0 })
    await run.browser.startTracing(page, { categories: ['toplevel', '__metadata'] })
    const began = Date.now()
    await act()
    await done()
    const ms = Date.now() - began
    await page.waitForTimeout(300) // the pictures of the rows
    const frame = await page.evaluate(() => Math.round(window.frame))
    const task = longestOf(JSON.parse(await run.browser.stopTracing()).traceEvents)
    console.log(`${slower}x ${name}: ${ms} ms, longest frame ${frame} ms, longest task ${task} ms of processor time`)
    run.check(task > 0 && (task <= 50 || slower > 1), `${name}: a task of the page takes ${task} ms`)
  }
  const status = text => page.waitForFunction(t => document.querySelector('[role=status]')?.textContent.includes(t), text)
  const first = () => page.evaluate(() => document.querySelector('.grid-row[aria-rowindex="2"]')?.textContent)
  const changes = async before => page.waitForFunction(b => document.querySelector('.grid-row[aria-rowindex="2"]')?.textContent !== b, before)

  await page.goto(url)
  await page.waitForSelector('.card')
  await page.waitForTimeout(500)
  await took('load', () => page.keyboard.press('2'), () => status('100,000 networks'))
  for (const column of ['Rate', 'Conns', 'State', 'Gain', 'Network']) {
    const before = await first()
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
  await page.waitForSelector('.spark path')
  const { rows, sparks, twice } = await page.evaluate(() => {
    const at = [...document.querySelectorAll('.grid-row')].map(r => r.getAttribute('aria-rowindex'))
    return { rows: at.length, sparks: document.querySelectorAll('.spark').length, twice: at.length - new Set(at).size }
  })
  run.check(rows < 100 && sparks <= rows && !twice, `${rows} rows are in the page, ${twice} of them twice, with ${sparks} pictures`)
  await run.shot(page, 'many')
  await page.context().close()
}
await all(1)
await all(4)
await run.end()
