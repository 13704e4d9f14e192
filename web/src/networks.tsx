// All networks, of which only those in view are in the page.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Refusal, headers, queryURL, token } from './ask'
import { Empty, State } from './parts'
import { Spark, useRecent, windows } from './spark'
import { Fault } from './dialog'
import { arms, change, classes, clock, count, ms, percent, rate, states } from './words'
import { hrefTo, keep } from './route'
import type { Column, Order, Reply, Seen, Want } from './rows.worker'
import type { Network } from './answers'
import type { PageOf } from './page'

const height = 36 // px of a row, as in style.css
const spare = 5 // rows above and below the view, and those that are drawn in one frame
const places = 16 // more than such pieces in the page: one that leaves is used for one that comes

const columns: { name: string; sort?: Column; num?: boolean; narrow?: boolean; down?: boolean; tip: string }[] = [
  { name: 'Network', sort: 'prefix', narrow: true, tip: 'client addresses that are judged together' },
  { name: 'State', sort: 'state', narrow: true, tip: 'what the policy does with it' },
  { name: 'Rate', sort: 'rate', num: true, narrow: true, tip: 'delivery rate under the default congestion control, last known' },
  { name: 'Treated', num: true, tip: 'delivery rate in its last treated block' },
  { name: 'Trend', tip: `rate under the default in the last ${windows} windows` },
  { name: 'Conns', sort: 'conns', num: true, down: true, tip: 'connections behind that rate' },
  { name: 'Slow', sort: 'duty', num: true, down: true, tip: 'share of its known windows in the slow group' },
  { name: 'RTT', sort: 'rtt', num: true, tip: 'smallest round trip' },
  { name: 'Sent again', sort: 'retrans', num: true, down: true, tip: 'share of bytes sent again' },
  { name: 'Gain', sort: 'gain', num: true, narrow: true, down: true, tip: 'rate treated over rate untreated, from its pairs; ✓ where a benefit is shown' },
  { name: 'Losses', sort: 'signature', tip: 'what slows it' },
  { name: 'Now', sort: 'interest', tip: 'what its connections get in this block' },
]

// useRows keeps a worker for a PoP, and shows what it last sent.
function useRows(pop: string, epoch: string, want: Want): { seen?: Seen; fault?: Refusal } {
  const worker = useRef<Worker | null>(null)
  const [state, set] = useState<{ seen?: Seen; fault?: Refusal }>({})
  const send = (o: Order) => worker.current?.postMessage(o)
  useEffect(() => {
    set({})
    const w = new Worker(new URL('./rows.worker.ts', import.meta.url), { type: 'module' })
    worker.current = w
    w.onmessage = (e: MessageEvent<Reply>) => {
      const r = e.data
      if ('seen' in r) set({ seen: r.seen })
      else set(old => ({ ...old, fault: new Refusal(r.fault.text, r.fault.hint, r.fault.status) }))
    }
    return () => w.terminate()
  }, [pop])
  useEffect(() => { if (epoch) send({ load: { url: location.origin + queryURL(pop, 'prefixes'), headers: headers() } }) }, [pop, epoch, token.get()])
  useEffect(() => send({ want }), [pop, JSON.stringify(want)])
  return state
}

// shownOf reads an address: ?sort=-gain&state=trial&find=203.0
function shownOf(query: string) {
  const q = new URLSearchParams(query)
  const name = (q.get('sort') ?? '').replace(/^-/, '')
  const sort = columns.find(c => c.sort && c.sort === name)?.sort ?? 'interest'
  return { sort: { sort, down: (q.get('sort') ?? '').startsWith('-') }, state: q.get('state') ?? '', text: q.get('find') ?? '' }
}

export function Networks({ pop, live, query }: PageOf) {
  const asked = useMemo(() => shownOf(query), [])
  const [sort, by] = useState<{ sort: Column; down: boolean }>(asked.sort)
  const [text, type] = useState(asked.text)
  const [state, pick] = useState(asked.state)
  useEffect(() => {
    const q = new URLSearchParams()
    if (sort.sort !== 'interest') q.set('sort', (sort.down ? '-' : '') + sort.sort)
    if (state) q.set('state', state)
    if (text) q.set('find', text)
    keep(hrefTo(pop, 'networks'), q)
  }, [pop, sort, state, text])
  const [view, move] = useState({ from: 0, to: 60 })
  const box = useRef<HTMLDivElement>(null)
  const { seen, fault } = useRows(pop, live.epoch, { ...sort, text, state, ...view })
  const look = () => {
    const el = box.current
    if (!el) return
    // In steps, so that a small move asks nothing.
    const first = Math.max(0, Math.floor(el.scrollTop / height / spare) * spare - spare)
    const to = first + Math.ceil(el.clientHeight / height / spare) * spare + 3 * spare
    move(old => old.from === first && old.to === to ? old : { from: first, to })
  }
  useEffect(() => { box.current?.scrollTo(0, 0); look() }, [sort, text, state])
  useEffect(() => { // the box has a height only when the first answer has come, and another one in another window
    const o = new ResizeObserver(look)
    if (box.current) o.observe(box.current)
    return () => o.disconnect()
  }, [])
  const prefixes = useMemo(() => roomy.matches ? (seen?.rows ?? []).map(r => r.prefix) : [], [seen])
  const recent = useRecent(pop, live.epoch, prefixes)
  const pieces = useMemo(() => piecesOf(seen, recent, Math.floor((box.current?.scrollTop ?? 0) / height / spare)), [seen, recent])
  return (
    <>
      <div class="row tools">
        <h1>Networks</h1>
        <input type="search" placeholder="203.0.113, bbr, policer…" aria-label="Find networks" title="Key /" value={text} onInput={e => type(e.currentTarget.value)} />
        <select aria-label="State" value={state} onChange={e => pick(e.currentTarget.value)}>
          <option value="">All states</option>
          {(seen?.states ?? []).map(([s, n]) => <option key={s} value={s}>{s} ({count(n)})</option>)}
        </select>
        <span class="quiet" role="status">{seen ? seen.count === seen.total ? `${count(seen.total)} networks` : `${count(seen.count)} of ${count(seen.total)}` : fault ? '' : 'reading…'}</span>
      </div>
      {fault && <Fault fault={fault} />}
      {seen && seen.total === 0 && <Empty>No networks yet: the first window has not closed, or no client moved enough. A window takes 5 minutes by default; a network counts from some connections of 100 kB on.</Empty>}
      {seen && seen.total > 0 && seen.count === 0 && <Empty>No network matches. <button onClick={() => { type(''); pick('') }}>Show all</button></Empty>}
      <div class="grid" role="table" aria-label="Networks" aria-rowcount={(seen?.count ?? 0) + 1} hidden={!seen?.count}>
        <div class="grid-head" role="row">
          {columns.map(c => <Head key={c.name} c={c} sort={sort} by={by} />)}
        </div>
        <div class="grid-body" role="rowgroup" tabIndex={0} ref={box} onScroll={look}>
          <div role="presentation" style={{ height: `${(seen?.count ?? 0) * height}px`, position: 'relative' }}>
            {pieces.map(p => <Piece key={p.number % places} pop={pop} {...p} />)}
          </div>
        </div>
      </div>
    </>
  )
}

const cell = (c: { num?: boolean; narrow?: boolean }) => (c.num ? 'num' : '') + (c.narrow ? '' : ' wide-only')

type Sort = { sort: Column; down: boolean }

function Head({ c, sort, by }: { c: typeof columns[number]; sort: Sort; by: (s: Sort) => void }) {
  const { sort: to } = c
  if (!to) return <div role="columnheader" class={cell(c)} title={c.tip}>{c.name}</div>
  const on = sort.sort === to
  const shown = on && to !== 'interest'
  return (
    <div role="columnheader" class={cell(c)} aria-sort={shown ? sort.down ? 'descending' : 'ascending' : 'none'}>
      <button title={c.tip} onClick={() => by({ sort: to, down: on ? !sort.down : !!c.down })}>{c.name}{shown ? sort.down ? ' ↓' : ' ↑' : ''}</button>
    </div>
  )
}

const none: number[] = []
const roomy = matchMedia('(min-width: 821px)') // as in style.css: elsewhere no row has a picture

interface At { n: Network; at: number; rates: number[] }

// A piece is so many rows that follow each other. wait is the number of frames until it is drawn: those in view come
// first, and drawing all at once would take longer than a frame on a slow machine.
interface OfPiece { number: number; rows: At[]; wait: number }

function piecesOf(seen: Seen | undefined, recent: Map<string, number[]>, inView: number): OfPiece[] {
  const pieces: OfPiece[] = []
  seen?.rows.forEach((n, i) => {
    const at = seen.want.from + i
    const number = Math.floor(at / spare)
    if (pieces.at(-1)?.number !== number) pieces.push({ number, rows: [], wait: 0 })
    pieces.at(-1)!.rows.push({ n, at, rates: recent.get(n.prefix) ?? none })
  })
  const far = (p: OfPiece) => p.number < inView ? 100 - p.number : p.number - inView
  ;[...pieces].sort((a, b) => far(a) - far(b)).forEach((p, i) => { p.wait = i })
  return pieces
}

function Piece({ pop, rows, wait }: OfPiece & { pop: string }) {
  const [drawn, draw] = useState<At[]>([])
  useEffect(() => {
    let frame = 0
    const after = (n: number) => { frame = requestAnimationFrame(() => n > 0 ? after(n - 1) : draw(rows)) }
    after(wait)
    return () => cancelAnimationFrame(frame)
  }, [rows])
  return <>{drawn.map((r, i) => <Row key={i} pop={pop} {...r} />)}</>
}

type OfRow = At & { pop: string }

// Row is drawn again only if it is another one.
const Row = (r: OfRow) => useMemo(() => rowOf(r), [r.pop, r.n, r.at, r.rates])

function rowOf({ pop, n, at, rates }: OfRow) {
  const gain = n.rate_ratio
  return (
    <div role="row" class="grid-row" aria-rowindex={at + 2} style={{ top: `${at * height}px` }}>
      <div role="cell"><a href={hrefTo(pop, 'networks', n.prefix)}>{n.prefix}</a></div>
      <div role="cell" title={n.why ?? states[n.state] ?? ''}><State state={n.state} /></div>
      <div role="cell" class="num">{rate(n.performance_bytes_per_s)}</div>
      <div role="cell" class="num wide-only">{n.treated_bytes_per_s ? rate(n.treated_bytes_per_s) : '–'}</div>
      <div role="cell" class="wide-only"><Spark rates={rates} /></div>
      <div role="cell" class="num wide-only">{n.performance_connections ? count(n.performance_connections) : '–'}</div>
      <div role="cell" class="num wide-only"><span class="duty" aria-hidden="true"><i style={{ width: `${100 * n.duty}%` }} /></span> {n.duty.toFixed(2)}</div>
      <div role="cell" class="num wide-only">{ms(n.min_rtt_us)}</div>
      <div role="cell" class="num wide-only">{n.retrans_share ? percent(n.retrans_share) : '–'}</div>
      <div role="cell" class={'num' + (gain ? gain > 1 ? ' up' : ' down' : '')} title={n.claim === 'shown' ? 'its benefit is shown' : ''}>{gain ? change(gain) : '–'}{n.claim === 'shown' ? <span class="wide-only"> ✓</span> : null}</div>
      <div role="cell" class="wide-only" title={classes[n.signature ?? ''] ?? ''}>{n.signature ?? '–'}</div>
      <div role="cell" class="wide-only">{now(n)}</div>
    </div>
  )
}

function now(n: Network): string {
  if (!n.arm || n.arm === 'none') return n.guard ? `guard ${n.guard}` : '–'
  return `${n.arm === 'T' ? n.treatment : arms[n.arm] ?? n.arm}${n.arm_until_unix_s ? ' until ' + clock(n.arm_until_unix_s) : ''}`
}
