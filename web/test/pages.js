// pages.js URL TOKEN SECOND EMPTY [SHOTS]: EMPTY is the URL of a congctl that has just begun. It opens each page in both themes and widths, then acts with and
// without a token. TOKEN ends when the action that its holder is asked for by the name below is done; SECOND does not.
import { Run } from './browser.js'

const [url, token, second, empty, shots] = process.argv.slice(2)
const expire = 'expire'
const run = new Run(url, shots)
await run.start()

const pages = {
  overview: ['#/', '.card'], networks: ['#/chi/networks', '.grid-row'], network: ['#/chi/networks/20.0.0.0/24', '.strip'], rounds: ['#/chi/rounds', '.list'],
  plans: ['#/chi/plans', '.list'], plan: ['#/chi/plans/40', '.diff'], fleet: ['#/chi/fleet', '.list'], lab: ['#/chi/lab', '.empty'],
}
for (const theme of ['light', 'dark']) {
  for (const narrow of [false, true]) {
    for (const [name, [hash, sign]] of Object.entries(pages)) {
      const page = await run.page({ theme, narrow })
      if (name === 'plan') await page.addInitScript(secret => sessionStorage.setItem('congctl-token', secret), second) // to compare takes an operator's
      await page.goto(`${url}/${hash}`)
      await page.waitForSelector(sign)
      await page.locator('.feed.live').waitFor()
      if (name === 'networks' && !narrow) await page.waitForSelector('.spark path')
      await page.waitForTimeout(400) // the answers, of which none is awaited: a stream leaves no network idle
      const title = `${name}-${theme}-${narrow ? 390 : 1280}`
      await run.shot(page, title)
      if (name === 'networks') await page.waitForFunction(() => {
        const box = document.querySelector('.grid-body').getBoundingClientRect()
        return [...document.querySelectorAll('.grid-row')].some(r => r.getBoundingClientRect().bottom >= box.bottom) // no empty space below
      })
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      run.check(over <= 0, `${title}: ${over} px wider than the screen`)
      await run.axe(page, title)
      await page.context().close()
    }
  }
}

// Without any data each page says what is missing.
const fresh = new Run(empty, shots)
fresh.browser = run.browser
for (const name of ['overview', 'networks', 'rounds', 'plans']) {
  const page = await fresh.page({ narrow: name === 'plans' })
  await page.goto(`${empty}/#/chi/${name}`)
  await page.waitForSelector('.empty')
  await fresh.shot(page, `empty-${name}`)
  await fresh.axe(page, `empty ${name}`)
  await page.context().close()
}
run.faults.push(...fresh.faults)

// Sort, find, open, by keyboard too.
const page = await run.page()
await page.goto(`${url}/#/chi/overview`)
await page.waitForSelector('.card')
await page.keyboard.press('2')
await page.waitForSelector('.grid-row')
const first = () => page.locator('.grid-row[aria-rowindex="2"]').innerText()
await page.getByRole('button', { name: 'Rate' }).click()
await page.waitForSelector('[aria-sort=ascending]')
await page.waitForTimeout(300)
const slow = await first()
await page.getByRole('button', { name: 'Rate' }).click()
await page.waitForSelector('[aria-sort=descending]')
await page.waitForFunction(was => document.querySelector('.grid-row[aria-rowindex="2"]')?.innerText !== was, slow) // sorting the other way
await page.keyboard.press('Escape')
await page.locator('h1').first().click()
await page.keyboard.press('/')
await page.keyboard.type('20.0.7')
await page.waitForFunction(() => [...document.querySelectorAll('.grid-row a')].length > 0 && [...document.querySelectorAll('.grid-row a')].every(a => a.textContent.includes('20.0.7')))
await page.getByRole('link', { name: '20.0.7.0/24' }).click()
await page.waitForSelector('.strip')
run.check(page.url().endsWith('#/chi/networks/20.0.7.0/24'), `the link leads to ${page.url()}`)
await page.getByRole('link', { name: 'All networks' }).click()
await page.waitForSelector('[aria-sort=descending]')
run.check(page.url().endsWith('?sort=-rate&find=20.0.7') && await page.getByLabel('Find networks').inputValue() === '20.0.7', `back at ${page.url()}`)

// Without a token no plan is compared, and nothing can be confirmed; with a wrong one neither; then stop, resume and freeze.
await page.goto(`${url}/#/chi/plans/40`)
await page.getByText('With an operator’s token').waitFor()
page.expects = /401|403/
await page.getByRole('button', { name: 'Stop', exact: true }).click()
const box = page.locator('dialog')
run.check(await box.getByRole('button', { name: 'Stop treatment' }).isDisabled(), 'stop can be confirmed without a token')
await run.shot(page, 'stop-without-token')
await run.axe(page, 'dialog')
await box.getByLabel('Token').fill('congctl_wrong')
await box.getByRole('button', { name: 'Use token' }).click()
await box.getByRole('alert').waitFor()
run.check(await box.getByRole('button', { name: 'Stop treatment' }).isDisabled(), 'stop can be confirmed with a wrong token')
await box.getByLabel('Token').fill(token)
await box.getByRole('button', { name: 'Use token' }).click()
await box.getByRole('button', { name: 'Stop treatment' }).click()
await page.locator('.pill.warn', { hasText: 'stopped' }).waitFor()
await page.keyboard.press('1')
await page.waitForTimeout(200)
await run.shot(page, 'stopped')
await page.getByRole('button', { name: 'Resume' }).click()
await page.locator('dialog').getByRole('button', { name: 'Resume' }).click()
await page.locator('.pill', { hasText: 'stopped' }).waitFor({ state: 'detached' })
await page.keyboard.press('4')
await page.getByRole('button', { name: 'Freeze…' }).click()
await page.locator('dialog').getByRole('button', { name: 'Freeze' }).click()
await page.getByRole('button', { name: 'Unfreeze…' }).waitFor()
await page.locator('.list a').nth(1).click()
await page.getByRole('button', { name: 'Go back to this plan…' }).click()
await page.locator('dialog').getByRole('button', { name: 'Go back' }).click()
await page.locator('dialog').waitFor({ state: 'detached' })

// Stop and move back, resume, take a roll-out back, unfreeze.
const act = async (button, yes) => {
  await page.getByRole('button', { name: button, exact: true }).click()
  await page.locator('dialog').getByRole('button', { name: yes }).click()
  await page.locator('dialog').waitFor({ state: 'detached' })
}
await page.keyboard.press('1')
await act('Stop and move back…', 'Stop and move back')
await page.locator('.pill.warn', { hasText: 'stopped' }).waitFor()
await act('Resume', 'Resume')
await page.keyboard.press('5')
await act('Take roll-out back…', 'Take it back')
await page.getByRole('button', { name: 'Take roll-out back…' }).waitFor({ state: 'detached' })
await page.keyboard.press('4')
await act('Unfreeze…', 'Unfreeze')

// A plan file: what it would change is shown before it is pushed; one that is too large is not even sent.
const picker = page.getByLabel('Plan file')
await picker.setInputFiles({ name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('congctl-plan 2\n') })
const push = page.locator('.card', { hasText: 'Push a plan file' })
await push.locator('.diff .plus').waitFor()
await run.axe(page, 'a plan file')
await run.shot(page, 'push')
await page.getByRole('button', { name: 'Push…' }).click()
await page.locator('dialog .diff .plus').waitFor()
await run.shot(page, 'push-asked')
await page.locator('dialog').getByRole('button', { name: 'Push', exact: true }).click()
await page.locator('dialog').waitFor({ state: 'detached' })
await picker.setInputFiles({ name: 'huge.txt', mimeType: 'text/plain', buffer: Buffer.alloc(9 << 20) })
await push.getByRole('alert').filter({ hasText: 'too large' }).waitFor()

// The token ends while a dialog is open: the page says so, looks on, and takes another token.
page.expects = /401/
await page.getByRole('button', { name: 'Unfreeze…' }).click()
await fetch(`${url}/api/pop/chi/v1/${expire}`, { method: 'POST', body: '{}', headers: { Authorization: `Bearer ${token}` } })
await box.getByRole('button', { name: 'Unfreeze', exact: true }).click()
await box.getByRole('alert').waitFor()
await box.getByLabel('Token').waitFor()
run.check(await box.getByRole('button', { name: 'Unfreeze', exact: true }).isDisabled(), 'an expired token can confirm')
await run.shot(page, 'token-expired')
await run.axe(page, 'an expired token')
await box.getByRole('button', { name: 'Cancel' }).click()
await page.getByText('Your token has expired').waitFor()
await page.keyboard.press('2')
await page.waitForSelector('.grid-row')
await page.getByRole('button', { name: 'Use a token' }).click()
await box.getByLabel('Token').fill(second)
await box.getByRole('button', { name: 'Use token' }).click()
await box.getByText('You use token').waitFor()
await box.getByRole('button', { name: 'Done' }).click()
await page.getByText('Your token has expired').waitFor({ state: 'detached' })
await run.end()
