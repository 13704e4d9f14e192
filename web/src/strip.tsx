// A network's windows in a row: slow, not slow, or not known and why. Height tells them apart as colour does.
import type { WindowLine } from './answers'
import { clock, count, rate, stamp } from './words'

const most = 288 // a day of 5 minutes

interface Cell { start: number; how: 'slow' | 'fine' | 'gap'; text: string }

function cellsOf(lines: WindowLine[], seconds: number): Cell[] {
  const cells: Cell[] = []
  for (const w of lines) {
    if (w.known) {
      const text = `${rate(w.performance_bytes_per_s)}, rank ${w.rank ? count(w.rank) : '–'} of ${w.ranked ? count(w.ranked) : '–'}${w.in_group ? ': in the slow group' : ''}`
      cells.push({ start: w.window_start, how: w.in_group ? 'slow' : 'fine', text })
      continue
    }
    const end = w.run_end || w.window_start
    for (let t = Math.max(w.window_start, end - most * seconds); t <= end; t += seconds) cells.push({ start: t, how: 'gap', text: w.why ?? 'not known' })
  }
  return cells.slice(-most)
}

const tall = { slow: 30, fine: 18, gap: 6 }

export function Strip({ windows, seconds }: { windows: WindowLine[]; seconds: number }) {
  const cells = cellsOf(windows, seconds)
  const slow = cells.filter(c => c.how === 'slow').length
  const known = cells.filter(c => c.how !== 'gap').length
  return (
    <figure class="strip">
      <svg viewBox={`0 0 ${cells.length * 4} 32`} preserveAspectRatio="none" role="img" aria-label={`Slow in ${slow} of ${known} known windows since ${stamp(cells[0]?.start)}`}>
        {cells.map((c, i) => <rect key={c.start} x={i * 4} y={31 - tall[c.how]} width="3.2" height={tall[c.how]} class={c.how}><title>{`${stamp(c.start)}: ${c.text}`}</title></rect>)}
      </svg>
      <figcaption><span>{stamp(cells[0]?.start)}</span><span><i class="key slow" /> slow group <i class="key fine" /> not slow <i class="key gap" /> not known</span><span>{clock(cells.at(-1)?.start ?? 0)}</span></figcaption>
    </figure>
  )
}
