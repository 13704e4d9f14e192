// lab.js URL FOLDER [SHOTS]: FOLDER has summary.json and summary-9.json, report.json, replay.json, city.json and other.json, a city, too. They are opened, laid side by side and replayed; damaged ones are refused.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Run } from './browser.js'

const [url, folder, shots] = process.argv.slice(2)
const run = new Run(url, shots)
await run.start()
const file = name => join(folder, name)
const pick = page => page.getByLabel('Open reports').first()
const all = ['summary.json', 'summary-9.json', 'report.json', 'replay.json', 'city.json', 'other.json'].map(file)

for (const theme of ['light', 'dark']) {
  for (const narrow of [false, true]) {
    const page = await run.page({ theme, narrow })
    const title = `lab-${theme}-${narrow ? 390 : 1280}`
    await page.goto(`${url}/#/chi/lab`)
    await page.waitForSelector('.empty')
    await run.axe(page, `${title}, empty`)
    await run.shot(page, `empty-${title}`)
    await pick(page).setInputFiles(all)
    await page.waitForSelector('.files li:nth-child(6)')
    await page.waitForSelector('.u-over')
    await page.getByRole('slider').fill('20')
    await page.waitForTimeout(200)
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    run.check(over <= 0, `${title}: ${over} px wider than the screen`)
    await run.axe(page, title)
    if (shots) await page.screenshot({ path: join(shots, title + '.png'), fullPage: true })
    await page.context().close()
  }
}

// Side by side: a column for each report of a kind.
const page = await run.page()
await page.goto(`${url}/#/chi/lab`)
const uploads = []
page.on('request', r => { if (r.method() !== 'GET' && !/v1\/status$/.test(r.url())) uploads.push(r.url()) })
await pick(page).setInputFiles(all)
await page.waitForSelector('.files li:nth-child(6)')
const cities = page.getByRole('region', { name: /Cities/ })
run.check(await cities.locator('thead th').count() === 3, 'two cities stand not side by side')
run.check((await cities.locator('tbody tr').first().innerText()).includes('300 networks'), 'the cities have no size')
const cell = await page.getByRole('region', { name: /Cells/ }).locator('tr', { hasText: 'loss=4%/bbr' }).innerText()
run.check(/8\.84 Mbit\/s 7\.68×[^]*as predicted[^]*8\.65 Mbit\/s 6\.65×/.test(cell), `the cells of two runs: ${cell}`)
run.check(/quick from seed 1\b[^]*quick from seed 9/.test(await page.locator('.files').innerText()), 'two files of one scenario cannot be told apart')
run.check(/loop[^]*1\.67 Mbit\/s \+53 %[^]*1 helped, 0 harmed/.test(await page.getByRole('region', { name: /Days/ }).innerText()), 'no policy in the day')

// The slider, by keyboard: the time, the plan and what happened follow.
const slider = page.getByRole('slider')
const when = () => page.locator('.when').innerText()
await slider.focus()
const start = await when()
await page.keyboard.press('ArrowRight')
run.check(await when() !== start, 'the right arrow moves nothing')
await page.keyboard.press('End')
const end = await when()
run.check(/^1:00$/.test(end), `the day ends at ${end}`)
run.check(await page.locator('.chips li').count() > 0, 'nothing is in the plan at the end')
await page.keyboard.press('Home')
run.check(await when() === start && await page.locator('.chips li').count() === 0, 'the day does not begin without a plan')
await slider.fill('14') // the round that selects
await page.locator('.told li', { hasText: 'selected' }).first().waitFor()
await slider.fill('0') // from the start, so that Pause can be clicked before the end
await page.getByRole('button', { name: 'Play', exact: true }).focus()
await page.keyboard.press('Space')
await page.waitForFunction(was => document.querySelector('.when').textContent !== was, await when())
await page.getByRole('button', { name: 'Pause' }).click()
await page.getByLabel('Run', { exact: true }).selectOption({ index: 1 })
run.check(/20\d\d-/.test(await when()), 'recorded windows have no date')
run.check(uploads.length === 0, `sent: ${uploads}`)

// Drop, and close.
await page.getByRole('button', { name: 'Close summary.json' }).click()
await page.waitForSelector('.files li:nth-child(6)', { state: 'detached' })
const dropped = await page.evaluateHandle(([name, text]) => {
  const d = new DataTransfer()
  d.items.add(new File([text], name, { type: 'application/json' }))
  return d
}, ['summary.json', readFileSync(file('summary.json'), 'utf8')])
await page.dispatchEvent('main', 'drop', { dataTransfer: dropped })
await page.waitForSelector('.files li:nth-child(6)')
await page.keyboard.press('1')
await page.waitForSelector('.parts')
await page.goBack()
await page.waitForSelector('.files li:nth-child(6)')

// What is no report is refused, with the field and what to do.
const report = JSON.parse(readFileSync(file('report.json'), 'utf8'))
const damaged = { ...report, loops: [{ ...report.loops[0], rounds: [{ ...report.loops[0].rounds[0], known: 'nine' }] }] }
const lines = JSON.parse(readFileSync(file('replay.json'), 'utf8')).map(r => JSON.stringify(r)).join('\n')
for (const [name, text, want] of [
  ['cut.json', readFileSync(file('report.json'), 'utf8').slice(0, 5000), 'cut.json is not JSON, or is cut off'],
  ['damaged.json', JSON.stringify(damaged), 'damaged.json: loops[0].rounds[0].known is a text, and must be a number'],
  ['lacks.json', JSON.stringify({ ...report, courses: undefined }), 'lacks.json: courses is nothing, and must be a list'],
  ['empty.json', '[]', 'empty.json: it has no round'],
  ['manifest.json', '{"format": 1, "cells": ""}', 'Open summary.json beside it'],
  ['else.json', '{"a": 1}', 'else.json is no report of the laboratory'],
  ['text.json', '"hello"', 'text.json is no report of the laboratory'],
]) {
  await pick(page).setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) })
  await page.getByRole('alert').filter({ hasText: want }).waitFor()
}
await run.axe(page, 'refused')
await run.shot(page, 'lab-refused')
await pick(page).setInputFiles({ name: 'lines.jsonl', mimeType: 'application/json', buffer: Buffer.from(lines) })
await page.waitForSelector('.files li:nth-child(7)')
await run.end()
