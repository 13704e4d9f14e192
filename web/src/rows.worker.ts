// Holds all networks, beside the page, and gives it the few rows that are seen: reading, sorting and
// filtering 100,000 of them takes longer than a frame.
import { refusalOf } from './ask'
import type { Network } from './answers'

export type Column = 'interest' | 'prefix' | 'state' | 'rate' | 'conns' | 'duty' | 'rtt' | 'retrans' | 'gain' | 'signature'
export interface Want { sort: Column; down: boolean; text: string; state: string; from: number; to: number }
export type Order = { load: { url: string; headers: Record<string, string> } } | { want: Want }
export interface Seen { want: Want; rows: Network[]; count: number; total: number; states: [state: string, count: number][] }
export type Reply = { seen: Seen } | { fault: { text: string; hint: string; status: number } }

let all: Network[] = []
let ranks: Uint32Array = new Uint32Array()  // of each, by interest
let order = new Uint32Array()
let sorted = ''
let last: Want | undefined
let loads = 0

const numbers: { [c in Column]?: (n: Network, i: number) => number } = {
  interest: (_n, i) => ranks[i]!,
  prefix: (_n, i) => i, // as congctl sent them
  rate: n => n.performance_bytes_per_s || Infinity,
  conns: n => n.performance_connections,
  duty: n => n.duty,
  rtt: n => n.min_rtt_us || Infinity,
  retrans: n => n.retrans_share,
  gain: n => n.rate_ratio || 0,
}
const texts: { [c in Column]?: (n: Network) => string } = { state: n => n.state, signature: n => n.signature ?? '' }

// The states in order of interest: treated, in the plan and never treated, all others.
const treated = new Set(['always', 'trial', 'promoted', 'selected'])
const interest = (n: Network) => treated.has(n.state) ? 0 : n.state === 'hold-out' || n.state === 'A/A' ? 1 : 2

// rankOf is each one's place by interest, as congctl prefixes has it: of equals the one that is most often slow, then
// the slowest.
function rankOf(): Uint32Array {
  const states = Uint8Array.from(all, interest)
  const slowness = Float64Array.from(all, n => n.performance_connections ? n.performance_bytes_per_s : Infinity)
  const by = Uint32Array.from(all, (_n, i) => i).sort((a, b) =>
    states[a]! - states[b]! || all[b]!.duty - all[a]!.duty || (slowness[a] === slowness[b] ? a - b : slowness[a]! - slowness[b]!))
  const rank = new Uint32Array(all.length)
  by.forEach((n, at) => { rank[n] = at })
  return rank
}

function keysOf(sort: Column): Float64Array {
  const number = numbers[sort]
  if (number) return Float64Array.from(all, number)
  const text = texts[sort]!
  const names = [...new Set(all.map(text))].sort()
  const at = new Map(names.map((n, i) => [n, i]))
  return Float64Array.from(all, n => at.get(text(n))!)
}

function arrange(w: Want) {
  const now = [w.sort, w.down, w.text, w.state].join('\n')
  if (now === sorted) return
  const text = w.text.trim().toLowerCase()
  const fits = (n: Network) => (!w.state || n.state === w.state) &&
    (!text || n.prefix.includes(text) || (n.treatment ?? '').includes(text) || (n.signature ?? '').includes(text) || (n.guard ?? '').includes(text))
  const found: number[] = []
  all.forEach((n, i) => { if (fits(n)) found.push(i) })
  order = Uint32Array.from(found)
  const keys = keysOf(w.sort)
  const sign = w.down ? -1 : 1
  order.sort((a, b) => {
    const x = keys[a]!, y = keys[b]!
    if (x === y) return a - b
    if (x === Infinity || y === Infinity) return x === Infinity ? 1 : -1 // unknown: last, whatever the direction
    return x < y ? -sign : sign
  })
  sorted = now
}

function reply(r: Reply) { postMessage(r) }

function show() {
  if (!last) return
  arrange(last)
  const rows = [...order.subarray(last.from, last.to)].map(i => all[i]!)
  reply({ seen: { want: last, rows, count: order.length, total: all.length, states } })
}

let states: [string, number][] = []

function tally() {
  const n = new Map<string, number>()
  for (const r of all) n.set(r.state, (n.get(r.state) ?? 0) + 1)
  states = [...n].sort((a, b) => b[1] - a[1])
}

// rowsOf reads an array whose elements stand on a line each, as they come: its text is 40 MB for 100,000 networks.
async function rowsOf(answer: Response): Promise<Network[]> {
  const rows: Network[] = []
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  for (let rest = ''; ;) {
    const { done, value } = await reader.read()
    if (done) {
      if (rest.trim() !== ']') throw new Error('the answer about all networks was cut off')
      return rows
    }
    const lines = (rest + value).split('\n')
    rest = lines.pop()!
    for (const l of lines) {
      if (l === '[]' || l === ']') { rest = ']'; continue }
      rows.push(JSON.parse(l.slice(1)) as Network) // after [ or ,
    }
  }
}

async function load(url: string, headers: Record<string, string>) {
  const mine = ++loads
  try {
    const answer = await fetch(url, { method: 'POST', headers, body: '{"sort":"address"}', signal: AbortSignal.timeout(60_000), cache: 'no-store' })
    if (!answer.ok) throw await refusalOf(answer)
    const rows = await rowsOf(answer)
    if (mine !== loads) return // a later one is on its way
    all = rows
    ranks = rankOf()
    sorted = ''
    tally()
    show()
  } catch (e) {
    const r = e as { message?: string; hint?: string; status?: number }
    if (mine === loads) reply({ fault: { text: r.message ?? String(e), hint: r.hint ?? '', status: r.status ?? 0 } })
  }
}

onmessage = (e: MessageEvent<Order>) => {
  if ('load' in e.data) void load(e.data.load.url, e.data.load.headers)
  else { last = e.data.want; if (loads) show() }
}
