// One network: what congctl explain says, as a picture.
import { useAsk } from './live'
import { Card, Empty, Events, Fact, Ratio, Scroll, State, reachOf } from './parts'
import { Fault } from './dialog'
import { Plot } from './chart'
import { Strip } from './strip'
import { change, classes, count, percent, plural, rate, stamp, states } from './words'
import { backTo, hrefTo } from './route'
import type { Explanation, Happening, Pair, PlanFile } from './answers'
import type { PageOf } from './page'

export function Detail({ pop, live, what }: PageOf) {
  const { data: x, fault } = useAsk<Explanation>(pop, 'explain', { prefix: what }, live.epoch)
  const events = useAsk<Happening[]>(pop, 'events', { prefix: what, limit: 30 }, live.events)
  const plan = useAsk<PlanFile>(pop, 'plan', { serial: 0 }, live.epoch)
  const back = <p><a href={backTo(hrefTo(pop, 'networks'))}>← All networks</a></p>
  if (!x) return <>{back}{fault ? <Fault fault={fault} /> : <p class="quiet">Asking about {what}…</p>}</>
  const last = x.windows?.filter(w => w.known).at(-1)
  const newest = x.experiment?.pairs?.at(-1)
  return (
    <>
      {back}
      <section class="banner idle">
        <h1>{x.prefix} <State state={x.state} /></h1>
        <p class="quiet">{states[x.state]}</p>
        {x.selected?.since ? <p class="quiet">In the selection since {stamp(x.selected.since)}</p> : null}
        <ul class="verdict">{x.verdict?.map(v => <li key={v}>{v}</li>)}</ul>
      </section>
      <dl class="figures">
        <Fact name="Rate, untreated">{rate(x.performance_bytes_per_s)}</Fact>
        <Fact name="Rate, treated">{newest ? rate(newest.treatment_rate_bytes_per_s) : '–'}</Fact>
        <Fact name="Rank, slowest first">{last?.rank ? `${count(last.rank)} of ${count(last.ranked ?? 0)}` : '–'}</Fact>
        <Fact name="In the slow group">{x.in_group_windows} of {x.known_windows}</Fact>
        <Fact name="Share of time slow">{x.duty.toFixed(2)}</Fact>
        <Fact name="Back and forth">{x.flap.toFixed(2)}</Fact>
        <Fact name="What slows it">{x.signature ? classes[x.signature.class] ?? x.signature.class : 'not known'}</Fact>
        <Fact name={`In plan ${plan.data?.serial ?? ''}`}>{plan.data ? plannedOf(plan.data.text, x.prefix) : '–'}</Fact>
      </dl>
      <div class="cards">
        <Card title="Windows" wide><Windows x={x} /></Card>
        <Card title="What treatment does"><Experiment x={x} /></Card>
        <Card title="Guards"><Guards x={x} /></Card>
        <Card title="What happened to it" wide>{events.data?.length ? <Events pop={pop} events={events.data} of={x.prefix} /> : <Empty>No change yet.</Empty>}</Card>
      </div>
    </>
  )
}

// plannedOf is what a plan's line of this network says (docs/format/plan.md): an operator may have pushed it.
function plannedOf(text: string, prefix: string): string {
  const line = text.split('\n').find(l => l.startsWith(`treat ${prefix} `))
  if (!line) return 'no'
  const [, , cong, state] = line.split(' ')
  return state === 'holdout' || state === 'aa' ? `${state}: not treated` : `${cong}, ${state}`
}

function Windows({ x }: { x: Explanation }) {
  const lines = x.windows ?? []
  const known = lines.filter(w => w.known)
  if (!known.length) return <Empty>No known window yet. {lines.at(-1)?.why}</Empty>
  const pairs = x.experiment?.pairs ?? []
  const treated = lines.map(w => pairs.find(p => p.start <= w.window_start && w.window_start < p.end)?.treatment_rate_bytes_per_s ?? null)
  return (
    <>
      <Strip windows={lines} seconds={Number(x.thresholds['window_seconds']) || 300} />
      <Plot label="Its rate in each window, untreated and in the treated blocks of each pair, beside the boundary of the slow group" height={200} words={rate} times={lines.map(w => w.window_start)} curves={[
        { name: 'untreated', values: lines.map(w => w.known ? w.performance_bytes_per_s ?? null : null), colour: '--c-blue' },
        ...(pairs.length ? [{ name: 'treated', values: treated, colour: '--c-green' }] : []),
        { name: 'boundary', values: lines.map(w => w.known ? w.boundary_bytes_per_s || null : null), colour: '--c-orange', dash: true },
      ]} />
    </>
  )
}

function Guards({ x }: { x: Explanation }) {
  const guards = x.guards ?? []
  if (!guards.length) return <Empty>No guard is on.</Empty>
  return <ul class="parts">{guards.map(g => <li key={g.name} class={g.state === 'hit' || g.state === 'held' ? 'warn' : g.state === 'pass' ? 'good' : 'idle'}><b>{g.name}</b><span>{g.text}</span><i>{g.state}</i></li>)}</ul>
}

function Experiment({ x }: { x: Explanation }) {
  const e = x.experiment
  if (!e) return <Empty>Not tried. A network is tried once it is in the plan; then blocks with and without treatment take turns.</Empty>
  const rates = bounds(e.rate_ratio ?? 1, e.rate_ratio_low, e.rate_ratio_high)
  const goodput = bounds(e.goodput_ratio ?? 1, e.goodput_ratio_low, e.goodput_ratio_high)
  const reach = reachOf(rates, goodput)
  return (
    <>
      {e.cooling_until ? <p>Tried before. It is not tried again before {stamp(e.cooling_until)}.</p> : null}
      {e.role && e.role !== 'none' ? <p>Its arm is {e.role}: {states[e.role]}.</p> : null}
      {e.rate_ratio
        ? <Ratio name="Delivery rate" of={rates} reach={reach} />
        : <p class="quiet">Fewer than two pairs of blocks: no ratio yet.</p>}
      {e.goodput_ratio ? <Ratio name="Goodput" of={goodput} reach={reach} /> : null}
      {e.log10_evidence_needed && e.log10_evidence_of_benefit !== undefined
        ? <p>Evidence of benefit 10<sup>{e.log10_evidence_of_benefit.toFixed(1)}</sup>; from 10<sup>{e.log10_evidence_needed.toFixed(1)}</sup> on it is shown.</p> : null}
      {x.pacing_cap ? <p>{x.pacing_cap.cap_bytes_per_s ? `Paced to ${rate(x.pacing_cap.cap_bytes_per_s)} at most.` : `No pacing cap: ${x.pacing_cap.no_cap ?? 'none is needed'}.`}</p> : null}
      {e.pairs?.length ? <Pairs pairs={e.pairs} /> : null}
    </>
  )
}

const bounds = (ratio: number, low?: number, high?: number) => ({ ratio, ...(low ? { low } : {}), ...(high ? { high } : {}) })

function Pairs({ pairs }: { pairs: Pair[] }) {
  return (
    <Scroll label="Pairs">
      <table class="list">
        <caption>{plural(pairs.length, 'pair')} of blocks, newest first</caption>
        <thead><tr><th>From</th><th class="num">Treated</th><th class="num">Control</th><th class="num">Change</th><th class="num">Sent again</th></tr></thead>
        <tbody>{[...pairs].reverse().slice(0, 20).map(p => (
          <tr key={p.start}>
            <td>{stamp(p.start)}</td>
            <td class="num" title={plural(p.treatment_connections, 'connection')}>{rate(p.treatment_rate_bytes_per_s)}</td>
            <td class="num" title={plural(p.control_connections, 'connection')}>{rate(p.control_rate_bytes_per_s)}</td>
            <td class={'num ' + (p.rate_ratio > 1 ? 'up' : 'down')}>{change(p.rate_ratio)}</td>
            <td class="num">{percent(p.treatment_retrans_share)} / {percent(p.control_retrans_share)}</td>
          </tr>))}</tbody>
      </table>
      {pairs.length > 20 && <p class="quiet">The newest 20 of {count(pairs.length)}.</p>}
    </Scroll>
  )
}
