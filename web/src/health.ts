// What the status means, part by part, in plain words.
import type { Status } from './answers'
import type { Live } from './live'
import { ago, clock, count, percent, plural, span } from './words'

export type How = 'good' | 'warn' | 'bad' | 'idle'
export interface Part { name: string; how: How; text: string }

export function headline(live: Live): { how: How; short: string; text: string } {
  const s = live.data
  if (!s) return live.fault ? { how: 'bad', short: 'no answer', text: live.fault.message } : { how: 'idle', short: '…', text: '' }
  if (live.fault) return { how: 'bad', short: 'no answer', text: 'congctl does not answer. What you see is from before.' }
  if (s.stopped) return { how: 'warn', short: 'stopped', text: 'Treatment is stopped. congctl measures, and changes no connection.' }
  if (s.tier === 'observe') return { how: 'idle', short: 'observing', text: 'This kernel can only be measured: nothing is treated.' }
  const n = s.agent?.prefixes_in_force ?? 0
  const frozen = s.frozen ? ' The plan is frozen.' : ''
  if (s.all_networks && n > 0) return { how: s.frozen ? 'warn' : 'good', short: s.frozen ? 'frozen' : 'treating', text: `All networks are treated by plan ${s.plan}.${frozen}` }
  if (n > 0) return { how: s.frozen ? 'warn' : 'good', short: s.frozen ? 'frozen' : 'treating', text: `${plural(n, 'network')} of plan ${s.plan} ${n === 1 ? 'is' : 'are'} in force.${frozen}` }
  if (s.windows_to_decision > 0) return { how: 'idle', short: 'learning', text: `congctl learns: the first decision comes in ${plural(s.windows_to_decision, 'window')} at the earliest, at ${clock(s.first_decision_unix_s ?? 0)}.` }
  return { how: s.frozen ? 'warn' : 'idle', short: s.frozen ? 'frozen' : 'watching', text: `No network is treated now.${frozen}` }
}

export function parts(s: Status, now: number): Part[] {
  return [kernel(s), polling(s), coverage(s), deciding(s, now), enforcing(s), losses(s)].filter(p => p !== undefined)
}

function kernel(s: Status): Part | undefined {
  if (!s.tier) return
  const how = s.tier === 'observe' ? 'warn' : 'good'
  return { name: 'Kernel', how, text: `tier ${s.tier}: ${s.tier_reason || 'all that congctl can do'}` }
}

function polling(s: Status): Part | undefined {
  const a = s.agent
  if (!a || s.tier === 'fleet') return
  if (a.starved) return { name: 'Measuring', how: 'bad', text: `the host is short of CPU: ${a.starved}` }
  if (a.window_unknown) return { name: 'Measuring', how: 'warn', text: `this window does not count: ${a.window_unknown}` }
  return { name: 'Measuring', how: a.polls ? 'good' : 'idle', text: a.polls ? `${plural(a.ledger.live, 'connection')} in ${plural(a.namespaces?.length ?? 0, 'namespace')}` : 'the first poll has not run yet' }
}

function coverage(s: Status): Part | undefined {
  const a = s.agent
  if (!a?.coverage_of) return
  const how = a.coverage_ratio < 0.99 ? 'warn' : 'good'
  return { name: 'Coverage', how, text: `${percent(a.coverage_ratio, 2)} of ${plural(a.coverage_of, 'new connection')} followed` }
}

function deciding(s: Status, now: number): Part {
  if (!s.round_unix_s) return { name: 'Deciding', how: 'idle', text: 'no round yet: the first window has not closed' }
  const when = `last round ${ago(s.round_unix_s, now)}`
  if (!s.all_networks && s.ranked < s.ranked_needed) return { name: 'Deciding', how: 'warn', text: `${when}; ${count(s.ranked)} of the ${plural(s.ranked_needed, 'network')} that a decision needs` }
  return { name: 'Deciding', how: 'good', text: `${when}, ${plural(s.ranked, 'network')} ranked` }
}

function enforcing(s: Status): Part {
  const a = s.agent
  if (s.stopped !== s.stopped_at_next_start) return { name: 'Treating', how: 'bad', text: s.stopped ? 'stopped, but the next start will treat: the store could not be written' : 'on, but the next start will treat nothing' }
  if (s.stopped) return { name: 'Treating', how: 'warn', text: 'stopped by the kill switch' }
  const defaults = a?.default_congestion_controls ?? []
  if (s.treatment && defaults.length && defaults.every(c => c === s.treatment)) return { name: 'Treating', how: 'warn', text: `the default already is ${s.treatment}: nothing to treat` }
  if (a && a.plan !== s.plan) return { name: 'Treating', how: 'warn', text: `plan ${a.plan} is in force, and ${s.plan} is not yet` }
  return { name: 'Treating', how: 'good', text: `${s.all_networks && a?.prefixes_in_force ? 'all networks' : plural(a?.prefixes_in_force ?? 0, 'network')} with ${s.treatment || 'the plan’s congestion control'}` }
}

function losses(s: Status): Part | undefined {
  const a = s.agent
  if (!a || s.tier === 'fleet') return
  const lost = a.dropped_closes + a.ring_full + a.malformed_closes
  const refused = a.switches_refused
  if (!lost && !refused) return { name: 'Losses', how: 'good', text: 'no record lost, no switch refused' }
  return { name: 'Losses', how: 'warn', text: `${plural(lost, 'close record')} lost, ${plural(refused, 'switch')} refused by the kernel since the start` }
}

export const uptime = (s: Status, now: number) => s.started_unix_s ? span(now - s.started_unix_s) : '–'
