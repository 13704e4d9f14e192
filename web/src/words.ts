// Numbers and times as people read them.

const minus = '−'

export const count = (n: number) => n.toLocaleString('en')
export const plural = (n: number, noun: string) => `${count(n)} ${noun}${n === 1 ? '' : 's'}`

export function rate(bytesPerS: number | undefined): string {
  if (!bytesPerS) return '–'
  const bit = bytesPerS * 8
  const [div, unit] = bit >= 1e9 ? [1e9, 'Gbit/s'] : bit >= 1e6 ? [1e6, 'Mbit/s'] : [1e3, 'kbit/s']
  const v = bit / div
  return `${v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2)} ${unit}`
}

export const percent = (share: number, digits = 1) => `${(100 * share).toFixed(digits)} %`
export const ms = (us: number) => us ? `${(us / 1000).toFixed(us < 10_000 ? 1 : 0)} ms` : '–'

// change is a ratio as a difference: 1.08 is +8.0 %.
export function change(ratio: number): string {
  const p = 100 * (ratio - 1)
  return `${p < 0 ? minus : '+'}${Math.abs(p).toFixed(Math.abs(p) < 10 ? 1 : 0)} %`
}

const two = (n: number) => String(n).padStart(2, '0')

export function clock(unixS: number): string {
  const d = new Date(unixS * 1000)
  return `${two(d.getHours())}:${two(d.getMinutes())}`
}

export function stamp(unixS: number | undefined): string {
  if (!unixS) return '–'
  const d = new Date(unixS * 1000)
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${clock(unixS)}`
}

export function span(seconds: number): string {
  const s = Math.max(0, Math.round(seconds))
  if (s < 90) return `${s} s`
  if (s < 90 * 60) return `${Math.round(s / 60)} min`
  if (s < 36 * 3600) return `${Math.round(s / 3600)} h`
  return `${Math.round(s / 86400)} days`
}

export const ago = (unixS: number | undefined, now: number) => unixS ? `${span(now - unixS)} ago` : 'never'

// states in the words of docs/policy.md, each with what it means.
export const states: Record<string, string> = {
  always: 'treated because the operator says so, alone or with all',
  promoted: 'believed to gain: treated but for control blocks',
  trial: 'treated and not, in turns, until more is known',
  selected: 'slow enough: in the plan',
  'hold-out': 'slow enough, and never treated: for comparison',
  'A/A': 'handled like a trial, and never treated: a check',
  cooling: 'tried before, not again for a while',
  excluded: 'slow enough, kept out by a guard',
  untreated: 'not slow enough, or not long enough',
}

export const classes: Record<string, string> = {
  single: 'single losses hold it down',
  mixed: 'some losses come singly',
  bursts: 'a short buffer overflows',
  policer: 'a rate limit drops the rest',
  queue: 'the path is full',
  clean: 'losses do not slow it',
}

// arms by their letters in records.
export const arms: Record<string, string> = { T: 'treatment', C: 'control' }
