// What each round selected and released: the seed's second figure, and the numbers behind it.
import { useAsk } from './live'
import { Card, Empty, Scroll } from './parts'
import { RoundsPlot, marksOf } from './overview'
import { Plot } from './chart'
import { count, rate, stamp } from './words'
import type { PlanLine, Round } from './answers'
import type { PageOf } from './page'

const most = 2016 // a week of windows of 5 minutes

export function Rounds({ pop, live }: PageOf) {
  const { data: rounds, fault } = useAsk<Round[]>(pop, 'rounds', { n: most }, live.epoch)
  const plans = useAsk<PlanLine[]>(pop, 'history', { n: 200 }, live.epoch)
  if (!rounds) return <p class="quiet">{fault ? fault.message : 'Reading the rounds…'}</p>
  if (!rounds.length) return <Empty>No rounds yet: the first window has not closed. A window takes 5 minutes by default (<code>window</code> in the configuration).</Empty>
  const old = [...rounds].reverse()
  return (
    <>
      <h1>Rounds</h1>
      <Card title="Selected, new and released" wide><RoundsPlot rounds={rounds} plans={plans.data} /></Card>
      <Card title="Boundary of the slow group: the rate that the slowest networks do not reach" wide>
        <Plot label="Rate below which a network is in the slow group, for each round" height={160} times={old.map(r => r.round_start_unix_s)} words={rate} marks={marksOf(plans.data)}
          curves={[{ name: 'boundary', values: old.map(r => r.boundary_bytes_per_s || null), colour: '--c-blue' }]} />
      </Card>
      <Scroll label="Rounds">
        <table class="list">
          <thead><tr><th>Round</th><th class="num">Known</th><th class="num">Ranked</th><th class="num">Slow group</th><th class="num">Boundary</th><th class="num">Selected</th><th class="num">New</th><th class="num">Released</th><th class="num">Kept out</th><th>Note</th></tr></thead>
          <tbody>{rounds.slice(0, 200).map(r => (
            <tr key={r.round_start_unix_s}>
              <td>{stamp(r.round_start_unix_s)}</td><td class="num">{count(r.known)}</td><td class="num">{count(r.ranked)}</td><td class="num">{count(r.in_group)}</td><td class="num">{rate(r.boundary_bytes_per_s)}</td>
              <td class="num">{count(r.selected)}</td><td class="num">{r.new ? count(r.new) : '–'}</td><td class="num">{r.released ? count(r.released) : '–'}</td><td class="num">{r.refused ? count(r.refused) : '–'}</td><td>{r.note ?? ''}</td>
            </tr>))}</tbody>
        </table>
      </Scroll>
      {rounds.length > 200 && <p class="quiet">The newest 200 of {count(rounds.length)}. All: <code>congctl rounds -n {most}</code></p>}
    </>
  )
}
