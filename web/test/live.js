// live.js URL TOKEN [SHOTS]: changes come by the stream, without a question; where it is cut the page asks, says so, and follows again.
import { connect, createServer } from 'node:net'
import { Run } from './browser.js'

const [url, token, shots] = process.argv.slice(2)

// A way to congctl that can lose its streams: those that are there, and all that are asked for.
const { port } = new URL(url)
let cut = false
const ways = new Set()
const between = createServer(page => {
  const far = connect(Number(port), '127.0.0.1')
  const way = { live: false, end: () => { page.destroy(); far.destroy() } }
  ways.add(way)
  page.on('data', b => {
    if (b.includes('/v1/live')) way.live = true
    if (cut && way.live) way.end()
    else far.write(b)
  })
  far.on('data', b => page.write(b))
  for (const s of [page, far]) {
    s.on('error', () => {})
    s.on('close', () => { ways.delete(way); way.end() })
  }
})
await new Promise(resolve => between.listen(0, '127.0.0.1', resolve))
const here = `http://127.0.0.1:${between.address().port}`

const run = new Run(here, shots)
await run.start()
const page = await run.page()
const asked = []
page.on('request', r => { const q = r.url().match(/\/v1\/(\w+)$/)?.[1]; if (q) asked.push(q) })
const act = async (query, body = {}) => {
  const answer = await fetch(`${url}/api/pop/chi/v1/${query}`, { method: 'POST', body: JSON.stringify(body), headers: { Authorization: `Bearer ${token}` } })
  if (!answer.ok) throw new Error(`${query}: ${answer.status} ${await answer.text()}`)
}
const stopped = page.locator('.pill.warn', { hasText: 'stopped' })

await page.goto(`${here}/#/chi/overview`)
await page.locator('.feed.live').waitFor()
await page.waitForLoadState('load')
await page.waitForSelector('.u-over')
asked.length = 0
await act('stop', { evict: false })
await stopped.waitFor()
run.check(!asked.includes('status'), `a change by the stream was asked for: ${asked}`)
for (const query of ['events', 'rounds']) { // what the page shows
  if (!asked.includes(query)) await page.waitForRequest(r => r.url().endsWith(`/v1/${query}`))
}
await run.shot(page, 'live')

// On the fleet's page a roll-out that is taken back is shown, and no network is read again for it.
await page.keyboard.press('5')
await page.waitForSelector('.stages')
asked.length = 0
await act('abort')
await page.locator('.stages li', { hasText: 'settled' }).and(page.locator('.now, [aria-current]')).waitFor()
run.check(asked.includes('fleet') && !asked.includes('prefixes') && !asked.includes('status'), `asked for a roll-out: ${asked}`)

// The stream is cut: the page asks, and says so; the rest works as before.
page.expects = /Failed to load resource|ERR_|network/
cut = true
for (const w of ways) if (w.live) w.end()
await page.locator('.feed.asking').waitFor()
await run.axe(page, 'without a stream')
await run.shot(page, 'live-cut')
await act('resume')
await stopped.waitFor({ state: 'detached' })
run.check(asked.includes('status'), 'nothing was asked without a stream')

// And it is there again, by itself: nothing was missed.
await act('stop', { evict: false })
cut = false
await page.locator('.feed.live').waitFor({ timeout: 60_000 })
await stopped.waitFor()
run.check(asked.filter(q => q === 'live').length >= 2, 'the stream was not tried again')

// A hidden page follows nothing.
page.expects = undefined
await page.evaluate(() => {
  Object.defineProperty(document, 'hidden', { get: () => window.away, configurable: true })
  window.away = true
  document.dispatchEvent(new Event('visibilitychange'))
})
const quiet = async () => { const before = asked.length; await page.waitForTimeout(7000); return asked.length - before }
const n = await quiet()
run.check(n === 0, `a hidden page asked ${n} times: ${asked.slice(-n)}`)
await act('resume')
await page.evaluate(() => { window.away = false; document.dispatchEvent(new Event('visibilitychange')) })
await stopped.waitFor({ state: 'detached' })
await run.end()
