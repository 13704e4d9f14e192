// controller.js URL TOKEN VIEWER PLAN SETTLED [SHOTS]: a running controller with an agent, edge-1. PLAN is a plan file that may be pushed and has one network more than SETTLED, the plan in force.
import { Run } from './browser.js'

const [url, token, viewer, plan, settled, shots] = process.argv.slice(2)
const run = new Run(url, shots)
await run.start()
const page = await run.page()
const box = page.locator('dialog')
const act = async (button, yes = button.replace('…', '')) => {
  await page.getByRole('button', { name: button, exact: true }).click()
  await box.getByRole('button', { name: yes, exact: true }).click()
  await box.waitFor({ state: 'detached' })
}
const use = async secret => {
  await box.getByLabel('Token').fill(secret)
  await box.getByRole('button', { name: 'Use token' }).click()
}

await page.goto(`${url}/#/chi/fleet`)
await page.locator('tr', { hasText: 'edge-1' }).locator('.pill.good', { hasText: 'connected' }).waitFor()
await page.locator('.feed.live').waitFor()
for (const [key, sign] of [['1', '.parts'], ['2', '.grid-row, .empty'], ['3', '.list, .empty'], ['4', '.list'], ['5', '.stages'], ['6', '.empty']]) {
  await page.keyboard.press(key)
  await page.locator(sign).first().waitFor()
  await run.axe(page, `page ${key} of a controller`)
}

// Without a token, with a wrong one and with a viewer's nothing is done; with an operator's it is.
page.expects = /40[13]/
await page.keyboard.press('4')
await page.getByRole('button', { name: 'Freeze…' }).click()
const yes = box.getByRole('button', { name: 'Freeze', exact: true })
run.check(await yes.isDisabled(), 'freeze can be confirmed without a token')
await use('congctl_wrong')
await box.getByRole('alert').waitFor()
await use(viewer)
await box.getByText('may only look').waitFor()
run.check(await yes.isDisabled(), 'freeze can be confirmed with a viewer')
await use(token)
await yes.click()
await box.waitFor({ state: 'detached' })
await page.locator('.note', { hasText: 'frozen' }).waitFor()
page.expects = undefined
await act('Unfreeze…')
await page.locator('.note', { hasText: 'frozen' }).waitFor({ state: 'detached' })

// The kill switch reaches the host.
const host = page.locator('tr', { hasText: 'edge-1' })
await act('Stop', 'Stop treatment')
await page.keyboard.press('5')
await host.locator('.pill.warn', { hasText: 'stopped' }).waitFor()
await run.shot(page, 'controller-stopped')
await act('Resume')
await host.locator('.pill.good', { hasText: 'connected' }).waitFor()

// A plan is pushed, reaches the host, and a return to the one before does, too. The page shows both by itself.
const force = n => page.waitForFunction(n => [...document.querySelectorAll('tr')].some(r => r.textContent.includes('edge-1') && r.children[3].textContent === String(n)), n)
await force(0)
await page.keyboard.press('4')
await page.getByLabel('Plan file').setInputFiles(plan)
await page.locator('.diff .plus, .card [role=alert]').first().waitFor()
run.check(await page.locator('.diff .plus').count() > 0, `the plan is refused: ${await page.locator('.card [role=alert]').allInnerTexts()}`)
await act('Push…')
await page.keyboard.press('5')
await force(1)
await run.shot(page, 'controller-pushed')
await page.goto(`${url}/#/chi/plans/${settled}`)
await page.locator('.diff .less').waitFor()
await act('Go back to this plan…', 'Go back')
await page.keyboard.press('5')
await force(0)

// No roll-out is under way: to take one back is refused, in words.
await page.keyboard.press('4')
page.expects = /409|400/
await page.getByRole('button', { name: 'Take roll-out back…' }).click()
await box.getByRole('button', { name: 'Take it back' }).click()
await box.getByRole('alert').waitFor()
await run.shot(page, 'controller-refused')
await box.getByRole('button', { name: 'Cancel' }).click()
await run.end()
