// Files of congctl's laboratory, opened from the reader's disk: which one it is, and whether it is as its format says.
// Keys are those of docs/format/results.md, pop-report.md and docs/verb/simulate.md; others may be there.
import { Refusal } from './ask'

const largest = 64 << 20 // bytes

// A shape is an example: a value must be of its kind, a list's elements as the first one. A may has one or nothing.
class May<T> { constructor(readonly of: T) {} }
const may = <T>(of: T) => new May(of)
type Fits<S> = S extends May<infer T> ? Fits<T> | undefined : S extends readonly (infer E)[] ? Fits<E>[] : S extends object ? { [K in keyof S]: Fits<S[K]> } : S extends string ? string : S extends number ? number : boolean

const interval = { median: 0, low: 0, high: 0 }
const summary = {
  scenario: { name: '', seeds: { first: 0 } },
  rows: [{ cell: '', group: '', arm: '', runs: 0, invalid: 0, reasons: may(['']), goodput_bit_per_s: may(interval), retrans_share: may(interval), queue_p95_us: may(interval), ratio: may(interval), theory: may({ verdict: '' }) }],
}
const estimate = may({ value: 0, low: 0, high: 0 })
const level = { bytes_per_s: 0, ratio: estimate }
const day = {
  day: '', about: '', length_s: 0, leading_loop: '',
  runs: [{ seed: 0 }],
  experiment: { window_s: 0, block_s: 0 },
  networks: [{ number: 0, class: '', prefix: '' }],
  comparison: { policies: [{ policy: '', large: { responses: 0, p10: level, p50: level }, cost: { retrans_share: 0 }, networks_helped: 0, networks_harmed: 0, networks: 0 }] },
  loops: [{
    policy: '', seed: 0,
    rounds: [{ at_s: 0, known: 0, in_group: 0, selected: 0, new: 0, released: 0 }],
    spans: [{ network: 0, class: '', state: '', from_s: 0, to_s: 0, end: '' }],
    events: [{ at_s: 0, network: 0, class: '', kind: '', text: '' }],
  }],
  courses: [{ policy: '', metric: '', class: '', points: [{ from_s: 0, n: 0, p10: 0, p50: 0 }] }],
}
const city = {
  seed: 0, prefixes: 0, hours: 0, select: '', world: may(['']), helped: 0, helped_in_force: may(0), selection_to_promotion_hours_p50: may(0), changes_per_round: 0, tried: 0, promoted_useless: 0,
  promoted_harmed: 0, vain_traffic: 0, p10_gain: 0, p10_gain_oracle: 0, p10_gain_all: 0,
}
const replay = [{ round_start_unix_s: 0, pop: '', known: 0, selected: [''], added: [''], released: [''] }]

export type Summary = Fits<typeof summary>
export type Day = Fits<typeof day>
export type City = Fits<typeof city>
export type Replay = Fits<typeof replay>
export type Loop = Day['loops'][number]

export type Report = { name: string } & ({ kind: 'scenario'; of: Summary } | { kind: 'day'; of: Day } | { kind: 'city'; of: City } | { kind: 'replay'; of: Replay })

const kindOf = (v: unknown) => v === null || v === undefined ? 'nothing' : Array.isArray(v) ? 'a list' : typeof v === 'object' ? 'an object' : typeof v === 'string' ? 'a text' : typeof v === 'number' ? 'a number' : 'true or false'

// fit returns a value that has a shape, or says where it has not. A list that is null has no element.
function fit<S>(v: unknown, shape: S, at: string): Fits<S> {
  if (shape instanceof May) return (v === undefined || v === null ? undefined : fit(v, shape.of, at)) as Fits<S>
  if (Array.isArray(shape) && v === null) return [] as unknown as Fits<S>
  if (kindOf(v) !== kindOf(shape)) throw new Error(`${at || 'it'} is ${kindOf(v)}, and must be ${kindOf(shape)}`)
  if (Array.isArray(shape)) return (v as unknown[]).map((e, i) => fit(e, shape[0], `${at}[${i}]`)) as Fits<S>
  if (typeof shape !== 'object') return v as Fits<S>
  const from = v as Record<string, unknown>
  return Object.fromEntries(Object.entries(shape as object).map(([k, s]) => [k, fit(from[k], s, at ? `${at}.${k}` : k)])) as Fits<S>
}

// parse takes JSON, or JSON lines.
function parse(text: string): unknown {
  try { return JSON.parse(text) } catch (e) {
    const lines = text.split('\n').filter(l => l.trim())
    if (lines.length < 2 || !lines[0]!.endsWith('}')) throw e
    return lines.map(l => JSON.parse(l) as unknown)
  }
}

const make = 'Open summary.json of congctl lab run, report.json of congctl lab pop-report, or what congctl simulate -o json prints.'

export function reportOf(name: string, text: string): Report {
  let v: unknown
  try { v = parse(text) } catch { throw new Refusal(`${name} is not JSON, or is cut off`, make, 0) }
  const has = (key: string) => typeof v === 'object' && v !== null && key in v
  try {
    if (Array.isArray(v)) {
      const rounds = fit(v, replay, '')
      if (!rounds.length) throw new Error('it has no round')
      return { name, kind: 'replay', of: rounds }
    }
    if (has('rows') && has('scenario')) return { name, kind: 'scenario', of: fit(v, summary, '') }
    if (has('day') && has('loops')) return { name, kind: 'day', of: fit(v, day, '') }
    if (has('p10_gain_oracle')) return { name, kind: 'city', of: fit(v, city, '') }
  } catch (e) { throw new Refusal(`${name}: ${(e as Error).message}`, 'It may be of another version of congctl: make it again with this one.', 0) }
  if (has('format') && has('cells')) throw new Refusal(`${name} is the manifest of a lab run`, 'Open summary.json beside it.', 0)
  throw new Refusal(`${name} is no report of the laboratory`, make, 0)
}

export async function readReport(file: File): Promise<Report> {
  if (file.size > largest) throw new Refusal(`${file.name} has ${Math.round(file.size / 2 ** 20)} MB, and a report has 64 at most`, make, 0)
  return reportOf(file.name, await file.text())
}
