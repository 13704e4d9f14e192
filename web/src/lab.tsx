// Reports of the laboratory, from the reader's own disk: nothing is sent anywhere.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Refusal } from './ask'
import { asRefusal } from './live'
import { Card, Empty, Scroll } from './parts'
import { Fault } from './dialog'
import { dayWords } from './chart'
import { Replay, timelinesOf } from './replay'
import { type Report, readReport } from './labfile'
import { change, count, percent, plural, rate } from './words'

let opened: Report[] = [] // outlives the page, not the tab

export function LabPage() {
  const [reports, keep] = useState(opened)
  const [faults, fail] = useState<Refusal[]>([])
  const [over, hover] = useState(false)
  const take = async (files: Iterable<File>) => {
    const bad: Refusal[] = []
    for (const f of files) {
      try {
        const r = await readReport(f)
        opened = [...opened, { ...r, name: unlike(r.name) }]
      } catch (e) { bad.push(asRefusal(e)) }
    }
    keep(opened)
    fail(bad)
  }
  const close = (r: Report) => { opened = opened.filter(o => o !== r); keep(opened) }
  useDrop(files => void take(files), hover)
  const timelines = reports.flatMap(timelinesOf)
  return (
    <>
      <div class="row tools">
        <h1>Lab</h1>
        <label class={'pick' + (over ? ' over' : '')}>Open reports <input type="file" multiple accept=".json,.jsonl" onChange={e => { void take([...e.currentTarget.files ?? []]); e.currentTarget.value = '' }} /></label>
      </div>
      {faults.map(f => <Fault key={f.message} fault={f} />)}
      {!reports.length && <Blank />}
      {reports.length > 0 && <ul class="files" aria-label="Open reports">{reports.map(r => <li key={r.name}><span><b>{r.name}</b> <span class="quiet">{kinds[r.kind]}{titleOf(r)}</span></span> <button class="icon" aria-label={`Close ${r.name}`} title="Close" onClick={() => close(r)}>✕</button></li>)}</ul>}
      {timelines.length > 0 && <Card title="Replay" wide><Replay lines={timelines} /></Card>}
      <Beside reports={reports} />
    </>
  )

  // unlike is a name that no other file has: two folders have a report.json each.
  function unlike(name: string): string {
    let n = 1
    while (opened.some(o => o.name === (n > 1 ? `${name} (${n})` : name))) n++
    return n > 1 ? `${name} (${n})` : name
  }
}

const kinds: Record<Report['kind'], string> = { scenario: 'a scenario of the lab', day: 'a day of a point of presence', city: 'an imagined city', replay: 'recorded windows under other rules' }

// titleOf tells two files of one name apart.
const titleOf = (r: Report) => r.kind === 'scenario' ? `, ${r.of.scenario.name} from seed ${r.of.scenario.seeds.first}`
  : r.kind === 'day' ? `, ${r.of.day} of ${dayWords(r.of.length_s)} h from seed ${r.of.runs[0]?.seed ?? '–'}` : ''

function Blank() {
  return (
    <Empty>
      <p>No report is open. Drop files here, or choose them above: they stay in this tab, and nothing is sent.</p>
      <table class="list makes">
        <thead><tr><th>To see</th><th>Make the file with</th><th>Open</th></tr></thead>
        <tbody>
          <tr><td>a scenario's cells, beside those of another run</td><td><code>congctl lab run quick</code></td><td><code>quick.lab/summary.json</code></td></tr>
          <tr><td>a day under several policies, replayed</td><td><code>congctl lab pop demo</code></td><td><code>report.json</code> in its folder</td></tr>
          <tr><td>what other rules would have selected here, replayed</td><td><code>congctl simulate -o json &gt; replay.json</code></td><td><code>replay.json</code></td></tr>
          <tr><td>an imagined city, beside another</td><td><code>congctl simulate --synthetic -o json &gt; city.json</code></td><td><code>city.json</code></td></tr>
        </tbody>
      </table>
    </Empty>
  )
}

// useDrop takes files that are dropped anywhere on the page.
function useDrop(take: (files: Iterable<File>) => void, hover: (on: boolean) => void) {
  useEffect(() => {
    const over = (e: DragEvent) => { e.preventDefault(); hover(true) }
    const leave = () => hover(false)
    const drop = (e: DragEvent) => { e.preventDefault(); hover(false); take([...e.dataTransfer?.files ?? []]) }
    window.addEventListener('dragover', over)
    window.addEventListener('dragleave', leave)
    window.addEventListener('drop', drop)
    return () => { window.removeEventListener('dragover', over); window.removeEventListener('dragleave', leave); window.removeEventListener('drop', drop) }
  }, [])
}

type Line = [name: string, of: (ComponentChildren | undefined)[]]

// Beside has a table for each kind of report, a column for each report.
function Beside({ reports }: { reports: Report[] }) {
  const of = <K extends Report['kind']>(kind: K) => reports.filter((r): r is Extract<Report, { kind: K }> => r.kind === kind)
  const scenarios = of('scenario'), days = of('day'), cities = of('city'), replays = of('replay')
  return (
    <>
      {scenarios.length > 0 && <Table title="Cells: goodput, and its ratio to the first arm" first="Cell" reports={scenarios} lines={cells(scenarios)} />}
      {days.length > 0 && <Table title="Days: large responses at the 10th percentile, and bytes sent again" first="Policy" reports={days} lines={policies(days)} />}
      {cities.length > 0 && <Table title="Cities: what the loop found, and at what cost" first="" reports={cities} lines={measures(cities)} />}
      {replays.length > 0 && <Table title="Recorded windows" first="" reports={replays} lines={tallies(replays)} />}
    </>
  )
}

function Table({ title, first, reports, lines }: { title: string; first: string; reports: Report[]; lines: Line[] }) {
  return (
    <Card title={title} wide>
      <Scroll label={title}>
        <table class="list beside">
          <thead><tr><th>{first}</th>{reports.map(r => <th key={r.name} class="num">{r.name}{titleOf(r)}</th>)}</tr></thead>
          <tbody>{lines.map(([name, of]) => <tr key={name}><th>{name}</th>{of.map((v, i) => <td key={i} class="num">{v ?? '–'}</td>)}</tr>)}</tbody>
        </table>
      </Scroll>
    </Card>
  )
}

const names = <T,>(lists: T[][], name: (v: T) => string) => [...new Set(lists.flatMap(l => l.map(name)))]

function cells(reports: Extract<Report, { kind: 'scenario' }>[]): Line[] {
  return names(reports.map(r => r.of.rows), c => c.cell).map(cell => [cell, reports.map(r => {
    const c = r.of.rows.find(c => c.cell === cell)
    if (!c) return undefined
    if (c.invalid) return <span class="down" title={c.reasons?.join('; ') ?? ''}>INVALID</span>
    return <>{rate((c.goodput_bit_per_s?.median ?? 0) / 8)} {c.ratio && <b>{c.ratio.median.toFixed(2)}×</b>}<br /><small class="quiet">{c.goodput_bit_per_s ? `${rate(c.goodput_bit_per_s.low / 8)} to ${rate(c.goodput_bit_per_s.high / 8)}` : ''}{c.theory ? `, ${c.theory.verdict}` : ''}</small></>
  })])
}

function policies(reports: Extract<Report, { kind: 'day' }>[]): Line[] {
  return names(reports.map(r => r.of.comparison.policies), p => p.policy).map(policy => [policy, reports.map(r => {
    const p = r.of.comparison.policies.find(p => p.policy === policy)
    if (!p) return undefined
    const { ratio } = p.large.p10
    return <>{rate(p.large.p10.bytes_per_s)} {ratio && <b>{change(ratio.value)}</b>}<br />
      <small class="quiet">{ratio ? `${change(ratio.low)} to ${change(ratio.high)}, ` : ''}{percent(p.cost.retrans_share)} sent again{p.networks ? `; of ${p.networks} networks ${p.networks_helped} helped, ${p.networks_harmed} harmed` : ''}</small></>
  })])
}

function measures(reports: Extract<Report, { kind: 'city' }>[]): Line[] {
  const gain = (v: number) => change(1 + v)
  const line = (name: string, of: (c: Extract<Report, { kind: 'city' }>['of']) => ComponentChildren | undefined): Line => [name, reports.map(r => of(r.of))]
  return [
    line('City', c => `${plural(c.prefixes, 'network')}, ${c.hours} h, seed ${c.seed}`),
    line('Rules', c => c.select),
    line('World', c => c.world?.join(', ') ?? 'no nuisance'),
    line('Networks that treatment helps', c => count(c.helped)),
    line('Of them in force at the end', c => c.helped_in_force === undefined ? undefined : percent(c.helped_in_force, 0)),
    line('From selection to promotion', c => c.selection_to_promotion_hours_p50 === undefined ? undefined : `${c.selection_to_promotion_hours_p50.toFixed(1)} h`),
    line('Gain at the 10th percentile', c => <b>{gain(c.p10_gain)}</b>),
    line('The same with just the helped treated', c => gain(c.p10_gain_oracle)),
    line('The same with all treated', c => gain(c.p10_gain_all)),
    line('Networks tried', c => count(c.tried)),
    line('Promoted without use', c => c.promoted_useless),
    line('Promoted though harmed', c => c.promoted_harmed),
    line('Connections treated in vain', c => percent(c.vain_traffic)),
    line('Changes of the plan in a round', c => c.changes_per_round.toFixed(2)),
  ]
}

function tallies(reports: Extract<Report, { kind: 'replay' }>[]): Line[] {
  const sum = (list: number[]) => list.reduce((a, b) => a + b, 0)
  const line = (name: string, of: (r: Extract<Report, { kind: 'replay' }>['of']) => number): Line => [name, reports.map(r => count(of(r.of)))]
  return [
    line('Rounds', r => r.length),
    line('Selected at the end', r => r.at(-1)!.selected.length),
    line('Selected at most', r => Math.max(...r.map(x => x.selected.length))),
    line('Added', r => sum(r.map(x => x.added.length))),
    line('Released', r => sum(r.map(x => x.released.length))),
  ]
}
