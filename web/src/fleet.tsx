// The hosts of a PoP, by their own last word.
import { useAsk } from './live'
import { Card, Empty, Events, Fact, Scroll } from './parts'
import { Fault, deeds } from './dialog'
import { count, percent, rate } from './words'
import type { Fleet, Happening, Host } from './answers'
import type { PageOf } from './page'

// stages of a roll-out in their order (docs/fleet.md).
const stages: [stage: string, says: string][] = [['canary', 'one host'], ['share', 'some hosts'], ['all', 'all hosts'], ['', 'settled']]

function Stages({ of }: { of: Fleet }) {
  if (of.stage === 'back') return <p class="note">Plan {of.next} failed: what plan {of.plan} says is being brought back to all hosts.</p>
  if (of.stage === 'direct') return <p class="note">A renewal or a return goes to all hosts at once.</p>
  const at = stages.findIndex(([s]) => s === of.stage)
  return (
    <ol class="stages" aria-label="Roll-out">
      {stages.map(([s, says], i) => <li key={s} class={i < at || !of.stage ? 'done' : i === at ? 'now' : ''} aria-current={i === at ? 'step' : undefined}><b>{s || 'settled'}</b> <span>{s ? says : `plan ${of.plan}`}</span></li>)}
    </ol>
  )
}

const told = ['rollout-stage', 'rollout-settled', 'rollout-back', 'rollout-replaced', 'rollout-host', 'host-capped']

export function FleetPage({ pop, live, desk, intend }: PageOf) {
  const events = useAsk<Happening[]>(pop, 'events', { kinds: told, limit: 20 }, desk.fleet ? live.events : '')
  const { data: f, fault } = useAsk<Fleet>(pop, 'fleet', {}, desk.fleet ? live.fleet : '')
  if (!desk.fleet) return <Empty>This congctl is no controller: it treats the connections of this host only.</Empty>
  if (!f) return fault ? <Fault fault={fault} /> : <p class="quiet">Asking for the hosts…</p>
  return (
    <>
      <div class="row tools"><h1>Fleet</h1>{f.stage && f.stage !== 'back' && <button onClick={() => intend(deeds.abort)}>Take roll-out back…</button>}</div>
      {fault && <Fault fault={fault} />}
      <dl class="figures">
        <Fact name="Hosts connected">{count(f.hosts.filter(h => h.connected).length)} of {count(f.hosts.length)}</Fact>
        <Fact name="Roll-out">{f.stage === 'back' ? `plan ${f.next} taken back` : f.stage === 'direct' ? `plan ${f.next} to all` : f.stage ? `plan ${f.next} at ${f.stage}` : 'none'}</Fact>
        <Fact name="Settled plan">{f.plan || '–'}</Fact>
        <Fact name="Kill switch">{f.stopped ? 'on' : 'off'}</Fact>
      </dl>
      <Stages of={f} />
      {!f.hosts.length ? <Empty>No host has connected. On each: <code>congctl agent</code> with this controller's URL in <code>fleet.controller</code>.</Empty>
        : <Scroll label="Hosts"><table class="list">
          <thead><tr><th>Host</th><th>State</th><th class="num">Plan</th><th class="num">In force</th><th class="num">Share</th><th class="num">Rate</th><th class="num">To the PoP</th><th>Version</th></tr></thead>
          <tbody>{f.hosts.map(h => (
            <tr key={h.host}>
              <td>{h.host}</td><td><span class={'pill ' + how(h)}>{word(h)}</span></td><td class="num">{h.plan || '–'}</td><td class="num">{count(h.prefixes_in_force)}</td>
              <td class="num">{h.share ? percent(h.share) : '–'}{h.capped ? ` (${percent(h.counted, 0)} counts)` : ''}</td><td class="num">{rate(h.rate_bytes_per_s)}</td><td class="num">{h.rate_to_pop ? h.rate_to_pop.toFixed(2) + '×' : '–'}</td><td>{h.version || '–'}</td>
            </tr>))}</tbody></table></Scroll>}
      <Card title="What happened to roll-outs and hosts" wide>{events.data?.length ? <Events pop={pop} events={events.data} /> : <Empty>Nothing yet.</Empty>}</Card>
    </>
  )
}

const word = (h: Host) => !h.connected ? 'away' : h.astray ? 'astray' : h.stopped ? 'stopped' : 'connected'
const how = (h: Host) => !h.connected ? 'bad' : h.astray || h.stopped ? 'warn' : 'good'
