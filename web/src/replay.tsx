// A day, round by round: what was in the plan, what changed, and what the clients got, at the time that the slider is at.
import { useEffect, useState } from 'preact/hooks'
import { Plot, dayWords } from './chart'
import { Fact, State } from './parts'
import { count, rate, stamp } from './words'
import type { Day, Loop, Replay as Rounds, Report } from './labfile'

interface Moment { at: number; known: number; selected: number; added: number; released: number; inPlan: { name: string; state: string }[]; told: string[] }

// Timeline is something that can be replayed.
export interface Timeline { name: string; day: boolean; moments: Moment[]; rates?: { policy: string; points: { at: number; p10: number }[] }[] }

export function timelinesOf(r: Report): Timeline[] {
  if (r.kind === 'day') return r.of.loops.filter(l => l.rounds.length).map(l => dayOf(r.name, r.of, l))
  if (r.kind !== 'replay') return []
  const pops = [...new Set(r.of.map(x => x.pop))]
  return pops.map(pop => ({ name: `${r.name}, ${pop}`, day: false, moments: momentsOf(r.of.filter(x => x.pop === pop)) }))
}

function dayOf(file: string, d: Day, l: Loop): Timeline {
  const prefix = new Map(d.networks.map(n => [n.number, n.prefix]))
  const name = (n: { network: number; class: string }) => `${prefix.get(n.network) ?? n.network} ${n.class}`
  let before = -Infinity
  const moments = l.rounds.map((r): Moment => {
    const told = l.events.filter(e => e.at_s > before && e.at_s <= r.at_s).map(e => `${name(e)}: ${e.kind}. ${e.text}`)
    before = r.at_s
    return { at: r.at_s, known: r.known, selected: r.selected, added: r.new, released: r.released, told,
      inPlan: l.spans.filter(s => s.from_s <= r.at_s && (r.at_s < s.to_s || s.end === 'day')).map(s => ({ name: name(s), state: s.state })) }
  })
  const rates = d.courses.filter(c => c.metric === 'goodput' && !c.class).map(c => ({ policy: c.policy, points: c.points.map(p => ({ at: p.from_s, p10: p.p10 })) }))
  return { name: `${file}, ${l.policy}, seed ${l.seed}`, day: true, moments, rates }
}

const momentsOf = (rounds: Rounds): Moment[] => rounds.map(r => ({
  at: r.round_start_unix_s, known: r.known, selected: r.selected.length, added: r.added.length, released: r.released.length,
  inPlan: r.selected.map(name => ({ name, state: 'selected' })), told: [...r.added.map(p => `${p}: added`), ...r.released.map(p => `${p}: released`)],
}))

const beat = 250 // ms a round, when it plays
const most = 60 // networks shown

export function Replay({ lines }: { lines: Timeline[] }) {
  const [which, pick] = useState(0)
  const line = lines[Math.min(which, lines.length - 1)]!
  return (
    <>
      {lines.length > 1 && <label class="row">Run <select aria-label="Run" value={lines.indexOf(line)} onChange={e => pick(Number(e.currentTarget.value))}>{lines.map((l, i) => <option key={l.name} value={i}>{l.name}</option>)}</select></label>}
      {lines.length === 1 && <p class="quiet">{line.name}</p>}
      <One key={line.name} line={line} />
    </>
  )
}

function One({ line }: { line: Timeline }) {
  const [at, go] = useState(0)
  const [plays, play] = useState(false)
  const last = line.moments.length - 1
  useEffect(() => {
    if (!plays) return
    const timer = setInterval(() => go(n => Math.min(n + 1, last)), beat)
    return () => clearInterval(timer)
  }, [plays])
  useEffect(() => { if (at === last) play(false) }, [at])
  const m = line.moments[at]!
  const span: [number, number] = [line.moments[0]!.at, line.moments[last]!.at]
  const time = line.day ? dayWords(m.at) : stamp(m.at)
  return (
    <>
      <div class="row">
        <button class="main" onClick={() => { if (at === last) go(0); play(!plays) }}>{plays ? 'Pause' : 'Play'}</button>
        <input class="slide" type="range" aria-label="Time" aria-valuetext={`${time}, round ${at + 1} of ${last + 1}`} min={0} max={last} value={at} onInput={e => { play(false); go(Number(e.currentTarget.value)) }} />
        <b class="when">{time}</b>
      </div>
      <dl class="figures">
        <Fact name="Round">{at + 1} of {last + 1}</Fact>
        <Fact name="Networks known">{count(m.known)}</Fact>
        <Fact name="In the plan">{count(m.selected)}</Fact>
        <Fact name="New"><span class={m.added ? 'up' : ''}>{count(m.added)}</span></Fact>
        <Fact name="Released"><span class={m.released ? 'down' : ''}>{count(m.released)}</span></Fact>
      </dl>
      <h2>Networks in the plan</h2>
      <Plot label="Networks in the plan, for each round" height={130} whole at={m.at} span={span} plain={line.day} words={v => count(Math.round(v))} times={line.moments.map(x => x.at)}
        curves={[{ name: 'in the plan', values: line.moments.map(x => x.selected), colour: '--c-blue' }]} />
      {line.rates?.length ? <h2>Goodput of large responses, 10th percentile</h2> : null}
      {line.rates?.length ? <Goodput rates={line.rates} at={m.at} span={span} /> : null}
      <div class="cards">
        <section><h2>In the plan</h2>{m.inPlan.length ? <ul class="chips">{m.inPlan.slice(0, most).map(n => <li key={n.name}>{n.name} <State state={n.state} /></li>)}{m.inPlan.length > most && <li class="quiet">and {m.inPlan.length - most} more</li>}</ul> : <p class="quiet">No network.</p>}</section>
        <section><h2>What happened</h2>{m.told.length ? <ul class="told">{m.told.slice(0, most).map(t => <li key={t}>{t}</li>)}</ul> : <p class="quiet">Nothing in this round.</p>}</section>
      </div>
    </>
  )
}

const colours = ['--c-orange', '--c-green', '--c-blue', '--c-purple']

function Goodput({ rates, at, span }: { rates: NonNullable<Timeline['rates']>; at: number; span: [number, number] }) {
  const times = [...new Set(rates.flatMap(r => r.points.map(p => p.at)))].sort((a, b) => a - b)
  const curves = rates.slice(0, colours.length).map((r, i) => {
    const known = new Map(r.points.map(p => [p.at, p.p10]))
    return { name: r.policy, values: times.map(t => known.get(t) || null), colour: colours[i]!, dash: i === 0 }
  })
  return <Plot label="Goodput of large responses at the 10th percentile under each policy" height={170} at={at} span={span} plain words={rate} times={times} curves={curves} />
}
