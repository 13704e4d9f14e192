// Curves over time, by uPlot. Colours are the theme's, so a chart is made anew when that changes.
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { useTheme } from './theme'
import { clock, rate } from './words'

export interface Curve { name: string; values: (number | null)[]; colour: string; bars?: boolean; dash?: boolean; scale?: string }
// A Chart may have marks, a line at a time, a span that others share, and plain times: seconds of a day that has no date.
export interface Chart { label: string; times: number[]; curves: Curve[]; height?: number; words: (v: number) => string; whole?: boolean; marks?: { at: number }[]; at?: number; span?: [from: number, to: number]; plain?: boolean }

const variable = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

function optionsOf(c: Chart, width: number, at: { current: number | undefined }): uPlot.Options {
  const ink = variable('--quiet')
  const grid = { stroke: variable('--line'), width: 1 }
  const font = '12px system-ui, sans-serif'
  return {
    width, height: c.height ?? 220, padding: [null, 30, null, null], // half a label of the last tick
    cursor: { y: false, points: { size: 6 } },
    scales: { x: { time: true, ...(c.span ? { range: c.span } : {}) }, y: { range: (_u, lo, hi) => [Math.min(0, lo) * 1.1, (hi > 0 ? hi : 1) * 1.05] } },
    axes: [
      { stroke: ink, grid, ticks: grid, font, space: 64, incrs: c.plain ? minutes : seconds, values: (_u, all, _a, _s, step) => all.map(t => c.plain ? dayWords(t) : timeWords(t, step)) },
      { stroke: ink, grid, ticks: grid, font, ...(c.whole ? { incrs: wholes } : c.words === rate ? { incrs: rates } : {}), size: (_u, all) => 22 + 7 * Math.max(c.span ? 8 : 2, ...(all ?? []).map(s => s.length)), values: (_u, all) => all.map(v => v ? short(c.words(v)) : '0') },
    ],
    legend: { live: true },
    series: [
      c.plain ? { label: 'time', value: (_u, t) => t === null ? '–' : dayWords(t) } : { value: '{YYYY}-{MM}-{DD} {HH}:{mm}' },
      ...c.curves.map((k): uPlot.Series => ({
        label: k.name, stroke: variable(k.colour), width: k.bars ? 1 : 2, spanGaps: false,
        ...(k.dash ? { dash: [6, 4] } : {}),
        ...(k.bars ? { fill: variable(k.colour), paths: uPlot.paths.bars!({ size: [0.7, 8] }), points: { show: false } } : { points: { size: 4 } }),
        value: (_u, v) => v === null || v === undefined ? '–' : c.words(v),
      })),
    ],
    hooks: {
      ready: [u => rest(u, at.current)],
      setCursor: [u => { if (u.cursor.idx == null) rest(u, at.current) }],
      draw: [u => { if (c.marks) drawMarks(u, c.marks); if (at.current !== undefined) drawLine(u, at.current) }],
    },
  }
}

// rest is what the legend says without a pointer: the values at a time, or the last ones.
function rest(u: uPlot, at: number | undefined) {
  if (u.data[0].length) u.setLegend({ idx: at === undefined ? u.data[0].length - 1 : u.valToIdx(at) }, false)
}

const minutes = [300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800]
const seconds = [1, 2, 5, 10, 15, 30, 60, 120, ...minutes]

// dayWords is the time of a day that began at 0, as 3:05.
export const dayWords = (t: number) => `${Math.floor(t / 3600)}:${String(Math.floor(t / 60) % 60).padStart(2, '0')}`

function drawLine(u: uPlot, at: number) {
  const { ctx, bbox } = u
  const x = u.valToPos(at, 'x', true)
  ctx.save()
  ctx.strokeStyle = variable('--ink')
  ctx.lineWidth = 2 * devicePixelRatio
  ctx.beginPath()
  ctx.moveTo(x, bbox.top)
  ctx.lineTo(x, bbox.top + bbox.height)
  ctx.stroke()
  ctx.restore()
}

// short is a rate without the zeros that a tick does not need.
const short = (words: string) => words.replace(/(\.\d*?)0+ /, '$1 ').replace('. ', ' ')

const wholes = [1, 10, 100, 1000, 10000, 100000].flatMap(n => [n, 2 * n, 5 * n])
const rates = [1, 1e3, 1e6].flatMap(n => wholes.map(w => n * w / 8)) // bytes/s, whole in bit/s

// timeWords names a tick: the day where one begins, and seconds where ticks are that close.
function timeWords(t: number, step: number): string {
  const d = new Date(t * 1000)
  if (step >= 3600 && d.getHours() === 0 && d.getMinutes() === 0) return d.toLocaleDateString('en', { day: 'numeric', month: 'short' })
  return clock(t) + (step < 60 ? ':' + String(d.getSeconds()).padStart(2, '0') : '')
}

function drawMarks(u: uPlot, marks: { at: number }[]) {
  const { ctx, bbox } = u
  ctx.save()
  ctx.strokeStyle = variable('--quiet')
  ctx.lineWidth = 2 * devicePixelRatio
  const high = 8 * devicePixelRatio
  for (const m of marks) {
    const x = u.valToPos(m.at, 'x', true)
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top - high)
    ctx.lineTo(x, bbox.top)
    ctx.stroke()
  }
  ctx.restore()
}

export function Plot(c: Chart) {
  const box = useRef<HTMLDivElement>(null)
  const theme = useTheme()
  const at = useRef(c.at)
  const drawn = useRef<uPlot | null>(null)
  at.current = c.at
  const key = JSON.stringify([c.times, c.curves.map(k => k.values), c.marks])
  useEffect(() => {
    const el = box.current
    if (!el) return
    const u = new uPlot(optionsOf(c, el.clientWidth, at), [c.times, ...c.curves.map(k => k.values)], el)
    const watch = new ResizeObserver(() => {
      if (el.clientWidth && el.clientWidth !== u.width) u.setSize({ width: el.clientWidth, height: c.height ?? 220 })
    })
    watch.observe(el)
    drawn.current = u
    return () => { watch.disconnect(); u.destroy(); drawn.current = null }
  }, [key, theme])
  useEffect(() => {
    const u = drawn.current
    if (!u || c.at === undefined) return
    rest(u, c.at)
    u.redraw(false)
  }, [c.at, key, theme])
  return <div ref={box} class="plot" role="img" aria-label={c.label} />
}
