// Is all well, what is done, does it help, what does it cost.
import { useEffect, useState } from 'preact/hooks'
import { deeds } from './dialog'
import { useAsk } from './live'
import { headline, parts, uptime } from './health'
import { Card, Empty, Events, Fact, Ratio, reachOf } from './parts'
import { Plot } from './chart'
import { ago, change, count, ms, percent, plural, rate, stamp } from './words'
import { hrefTo } from './route'
import type { Effect, Happening, Overall, PlanLine, Rates, Round, Taken } from './answers'
import type { PageOf } from './page'

export function Overview({ pop, live, intend }: PageOf) {
  const s = live.data
  const rounds = useAsk<Round[]>(pop, 'rounds', { n: 288 }, live.epoch)
  const events = useAsk<Happening[]>(pop, 'events', { limit: 12 }, live.events)
  const plans = useAsk<PlanLine[]>(pop, 'history', { n: 40 }, live.epoch)
  const effect = useAsk<Effect>(pop, 'effect', { Since: '24h', By: '', Label: '' }, live.epoch)
  if (!s) return <p class="quiet">Asking congctl…</p>
  const say = headline(live)
  const alarms = s.agent?.alarms ?? []
  return (
    <>
      <section class={'banner ' + say.how}>
        <h1>{say.text}</h1>
        <div class="row">
          {!s.stopped && <button onClick={() => intend(deeds.evict)}>Stop and move back…</button>}
          {s.frozen ? <button onClick={() => intend(deeds.unfreeze)}>Unfreeze…</button> : <button onClick={() => intend(deeds.freeze)}>Freeze…</button>}
        </div>
      </section>
      {alarms.length > 0 && <section class="alarms" role="alert"><h2>{plural(alarms.length, 'alarm')}</h2><ul>{alarms.map(a => <li key={a}>{a}</li>)}</ul></section>}
      <dl class="figures">
        <Fact name="Connections">{s.tier === 'fleet' ? '–' : count(s.agent?.ledger.live ?? 0)}</Fact>
        <Fact name="Networks ranked">{count(s.ranked)}</Fact>
        <Fact name="In force">{s.stopped ? 'stopped' : s.all_networks && s.agent?.prefixes_in_force ? 'all' : count(s.agent?.prefixes_in_force ?? 0)}</Fact>
        <Fact name="Plan">{s.plan ? <a href={hrefTo(pop, 'plans', String(s.plan))}>{s.plan}</a> : '–'}</Fact>
        <Fact name="Last round"><span title={stamp(s.round_unix_s)}>{ago(s.round_unix_s, live.now)}</span></Fact>
        <Fact name="Up for">{uptime(s, live.now)}</Fact>
      </dl>
      <div class="cards">
        <Card title="Does it help? Last 24 hours"><EffectCard effect={effect.data} fault={effect.fault?.message} /></Card>
        <Card title="Is all well?"><Parts {...{ live }} /></Card>
        <Card title="Delivery rate of all connections, last day" wide><RatesPlot {...{ pop, live }} plans={plans.data} /></Card>
        <Card title="Rounds" wide more={<a href={hrefTo(pop, 'rounds')}>All rounds</a>}><RoundsPlot rounds={rounds.data} plans={plans.data} /></Card>
        <Card title="What happened last" wide>
          {events.data?.length ? <Events pop={pop} events={events.data} /> : <Empty>Nothing yet. Each change of the plan, alarm and action is listed here, with its reason.</Empty>}
        </Card>
      </div>
    </>
  )
}

// RatesPlot asks again while windows are still being read: a day of many networks takes a while.
function RatesPlot({ pop, live, plans }: Pick<PageOf, 'pop' | 'live'> & { plans: PlanLine[] | undefined }) {
  const [turn, again] = useState(0)
  const { data, fault } = useAsk<Rates>(pop, 'rates', { windows: 288 }, live.epoch && live.epoch + turn)
  useEffect(() => {
    if (!data?.missing) return
    const timer = setTimeout(() => again(n => n + 1), 1500)
    return () => clearTimeout(timer)
  }, [data])
  if (!data) return <Empty>{fault ? `No answer: ${fault.message}` : 'Reading the windows…'}</Empty>
  if (!data.points.length && !data.damaged) return <Empty>No window with a large response yet. Responses of 100 kB and more have a delivery rate.</Empty>
  return (
    <>
      <Plot label="Delivery rate of all connections with large responses, for each window: median and 10th percentile" height={180} words={rate} marks={marksOf(plans)} times={data.points.map(p => p.window_start_unix_s)} curves={[
        { name: 'half are above', values: data.points.map(p => p.p50_bytes_per_s), colour: '--c-blue' },
        { name: '9 of 10 are above', values: data.points.map(p => p.p10_bytes_per_s), colour: '--c-orange' },
      ]} />
      <p class="quiet">Marks above: a new plan.{data.missing ? ` Reading ${plural(data.missing, 'older window')}…` : ''}{data.damaged ? ` ${plural(data.damaged, 'window')} cannot be read, and ${data.damaged === 1 ? 'is' : 'are'} left out.` : ''}</p>
    </>
  )
}

function Parts({ live }: Pick<PageOf, 'live'>) {
  return (
    <ul class="parts">
      {parts(live.data!, live.now).map(p => <li key={p.name} class={p.how}><b>{p.name}</b><span>{p.text}</span><i>{p.how === 'good' ? 'well' : p.how === 'idle' ? 'waits' : 'look'}</i></li>)}
    </ul>
  )
}

function EffectCard({ effect, fault }: { effect: Effect | undefined; fault: string | undefined }) {
  if (!effect) return <Empty>{fault ? `No answer: ${fault}` : 'Reading the store…'}</Empty>
  const o = effect.overall
  if (!o) return <Empty>No pair of treatment and control blocks has ended yet. The first comes within the hour in which the first network is tried: <code>congctl effect</code> explains each.</Empty>
  const c = effect.cost
  const reach = reachOf(o, effect.goodput_over_busy_time)
  return (
    <>
      <p class="big">{verdict(o)}</p>
      <Ratio name="Delivery rate" of={o} reach={reach} />
      {effect.goodput_over_busy_time && <Ratio name="Goodput" of={effect.goodput_over_busy_time} reach={reach} />}
      {c && <table class="cost">
        <thead><tr><th>Cost</th><th>treated</th><th>control</th></tr></thead>
        <tbody>
          <tr><th>Sent again</th><td>{percent(c.treatment_retrans_share, 2)}</td><td>{percent(c.control_retrans_share, 2)}</td></tr>
          <tr><th>Waiting in queues</th><td>{ms(c.treatment_queue_us)}</td><td>{ms(c.control_queue_us)}</td></tr>
        </tbody></table>}
      {effect.taken_from_others && <p class="quiet">{takenText(effect.taken_from_others)}</p>}
      <p class="quiet">{plural(o.pairs, 'pair')} of {plural(effect.networks, 'network')}.{o.low && o.high ? ' The bounds hold at any time with 95 %.' : ''}</p>
      {effect.findings?.map(f => <p key={f.text} class="note">{f.text}. Fix: <code>{f.fix}</code></p>)}
    </>
  )
}

function takenText(t: Taken): string {
  return `Of what these networks gain, ${percent(t.share, 0)} is taken from others here (${percent(t.low, 0)} to ${percent(t.high, 0)})${t.low > 0 ? '' : ': not shown to be any'}.`
}

const hours = (s: number) => s < 2700 ? '30 min' : `${Math.round(s / 1800) / 2} h`

function verdict(o: Overall): string {
  if (!o.low || !o.high) return `${change(o.ratio)} so far: ${o.bounds_in_s ? `an interval in about ${hours(o.bounds_in_s)}` : 'too few networks for an interval'}.`
  if (o.low > 1) return `Yes: treated connections are ${percent(o.ratio - 1, 0)} faster.`
  if (o.high < 1) return `No: treated connections are ${percent(1 - o.ratio, 0)} slower.`
  return `Not shown yet: ${change(o.ratio)}, and the interval includes no change.`
}

// marksOf are the plans that changed something.
export const marksOf = (plans: PlanLine[] | undefined) => (plans ?? []).filter(p => p.added + p.removed + p.changed > 0).map(p => ({ at: p.created_unix_s }))

export function RoundsPlot({ rounds, plans }: { rounds: Round[] | undefined; plans?: PlanLine[] | undefined }) {
  if (!rounds) return <Empty>Reading the rounds…</Empty>
  if (!rounds.length) return <Empty>No rounds yet: the first window has not closed. A window takes 5 minutes by default.</Empty>
  const old = [...rounds].reverse()
  const of = (f: (r: Round) => number) => old.map(f)
  const marks = marksOf(plans)
  return (
    <>
      <Plot label="Networks selected, new and released in each round" times={of(r => r.round_start_unix_s)} whole words={v => count(Math.round(v))} marks={marks} curves={[
        { name: 'selected', values: of(r => r.selected), colour: '--c-blue' },
        { name: 'in the slow group', values: of(r => r.in_group), colour: '--c-orange', dash: true },
      ]} />
      <Plot label="Networks that entered and left the plan in each round" height={120} times={of(r => r.round_start_unix_s)} whole words={v => count(Math.abs(Math.round(v)))} curves={[
        { name: 'new', values: of(r => r.new), colour: '--c-green', bars: true },
        { name: 'released (below)', values: of(r => -r.released), colour: '--c-purple', bars: true },
      ]} />
      {marks.length > 0 && <p class="quiet">Marks above: a new plan. Boundary of the slow group in the last round: {rate(rounds[0]?.boundary_bytes_per_s)}.</p>}
    </>
  )
}
