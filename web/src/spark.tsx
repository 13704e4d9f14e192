// A network's last windows in its row: asked for when the row is seen, and only then.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ask } from './ask'
import { rate } from './words'
import type { Recent } from './answers'

export const windows = 36 // three hours of 5 minutes
const settle = 150 // ms without a move before rows are asked for
const most = 4000 // networks kept
const unknown: number[] = [] // one, so that a row without a picture is drawn once

// useRecent keeps what it was told for as long as epoch is the same, and old values until there are new ones.
export function useRecent(pop: string, epoch: string, prefixes: string[]): Map<string, number[]> {
  const known = useRef(new Map<string, { of: string; rates: number[] }>())
  const [turn, show] = useState(0)
  const of = `${pop} ${epoch}`
  const missing = prefixes.filter(p => known.current.get(p)?.of !== of)
  useEffect(() => {
    if (!missing.length || !epoch) return
    let ended = false
    const timer = setTimeout(async () => {
      try {
        const { rates_bytes_per_s } = await ask<Recent>(pop, 'recent', { prefixes: missing.slice(0, 256), windows })
        if (ended) return
        if (known.current.size > most) known.current.clear()
        rates_bytes_per_s.forEach((rates, i) => known.current.set(missing[i]!, { of, rates }))
        show(n => n + 1)
      } catch { /* the rows stay without a picture; the status says what is wrong */ }
    }, settle)
    return () => { ended = true; clearTimeout(timer) }
  }, [of, missing.join()])
  return useMemo(() => new Map(prefixes.map(p => [p, known.current.get(p)?.rates ?? unknown])), [turn, prefixes])
}

const wide = 92, high = 22 // px, as in style.css

function pathOf(rates: number[], top: number): string {
  const step = wide / Math.max(1, rates.length - 1)
  let path = '', pen = false
  rates.forEach((v, i) => {
    if (v) path += `${pen ? 'L' : 'M'}${(i * step).toFixed(1)} ${(high - 2 - (high - 4) * v / top).toFixed(1)}${pen ? '' : 'h.1'}`
    pen = v > 0
  })
  return path
}

export function Spark({ rates }: { rates: number[] }) {
  const known = rates.filter(v => v > 0)
  if (!known.length) return null
  const top = Math.max(...known)
  const says = `${rate(Math.min(...known))} to ${rate(top)} in the last ${windows} windows`
  return <svg class="spark" viewBox={`0 0 ${wide} ${high}`} role="img" aria-label={says}><title>{says}</title><path d={pathOf(rates, top)} /></svg>
}
