// What was in force, what a return to it would change, and a plan of one's own.
import { useState } from 'preact/hooks'
import { ask, Refusal } from './ask'
import { asRefusal, useAsk } from './live'
import { Card, Empty, Scroll } from './parts'
import { Deed, Fault, deeds, mayAct } from './dialog'
import { count, plural, rate, stamp } from './words'
import { hrefTo } from './route'
import type { Diff, PlanFile, PlanLine } from './answers'
import type { PageOf } from './page'

export function Plans(p: PageOf) {
  const { pop, live, intend, desk } = p
  const s = live.data
  const plans = useAsk<PlanLine[]>(pop, 'history', { n: 200 }, live.events)
  if (p.what) return <One {...p} />
  return (
    <>
      <div class="row tools">
        <h1>Plans</h1>
        {s && (s.frozen ? <button onClick={() => intend(deeds.unfreeze)}>Unfreeze…</button> : <button onClick={() => intend(deeds.freeze)}>Freeze…</button>)}
        {desk.fleet && <button onClick={() => intend(deeds.abort)}>Take roll-out back…</button>}
      </div>
      {s?.frozen && <p class="note">The plan is frozen: rounds go on, and add and release nothing until you unfreeze it.</p>}
      {!plans.data ? <p class="quiet">{plans.fault?.message ?? 'Reading the plans…'}</p>
        : !plans.data.length ? <Empty>No plan yet. The first round writes one, even if it treats nothing.</Empty>
          : <History pop={pop} plans={plans.data} inForce={s?.plan ?? 0} />}
      <Push {...p} />
    </>
  )
}

function History({ pop, plans, inForce }: { pop: string; plans: PlanLine[]; inForce: number }) {
  return (
    <Scroll label="Plans">
      <table class="list">
        <thead><tr><th class="num">Plan</th><th>Written</th><th>By</th><th class="num">Networks</th><th class="num">Added</th><th class="num">Removed</th><th class="num">Changed</th><th>State</th></tr></thead>
        <tbody>{plans.map(l => (
          <tr key={l.serial} aria-current={l.serial === inForce ? 'true' : undefined}>
            <td class="num"><a href={hrefTo(pop, 'plans', String(l.serial))}>{l.serial}</a></td>
            <td>{stamp(l.created_unix_s)}</td><td>{l.by}</td><td class="num">{count(l.networks)}</td>
            <td class="num">{l.added ? <span class="up">+{count(l.added)}</span> : '–'}</td><td class="num">{l.removed ? <span class="down">−{count(l.removed)}</span> : '–'}</td><td class="num">{l.changed ? count(l.changed) : '–'}</td>
            <td>{l.state}{l.why && <small class="quiet"> {l.why}</small>}</td>
          </tr>))}</tbody>
      </table>
    </Scroll>
  )
}

function One({ desk, pop, live, what, intend }: PageOf) {
  const serial = Number(what) || 0
  const { data: f, fault } = useAsk<PlanFile>(pop, 'plan', { serial }, live.epoch)
  const diff = useAsk<Diff>(pop, 'compare', { text: f?.text ?? '' }, f && mayAct(desk, pop) ? live.epoch + f.hash : '')
  const back: Deed = {
    title: `Go back to plan ${what}?`, query: 'rollback', body: { serial }, yes: 'Go back', grave: true,
    says: <p>What plan {what} says comes in force again under a new number, and the plan is frozen until you unfreeze it.</p>,
  }
  return (
    <>
      <p><a href={hrefTo(pop, 'plans')}>← All plans</a></p>
      <div class="row tools"><h1>Plan {what}</h1>{f && live.data?.plan !== serial && <button onClick={() => intend(back)}>Go back to this plan…</button>}</div>
      {fault && <Fault fault={fault} />}
      {f && <p class="quiet">Written {stamp(f.created_unix_s)}, hash <code>{f.hash.slice(0, 16)}</code></p>}
      {f && live.data?.plan !== serial && <Card title="What going back would change" wide>
        {diff.data ? <Changes pop={pop} diff={diff.data} /> : <p class="quiet">{diff.fault ? `It would be refused: ${diff.fault.message}` : mayAct(desk, pop) ? 'Comparing…' : 'With an operator’s token this page compares them.'}</p>}
      </Card>}
      {f && <details open={live.data?.plan === serial}><summary>The plan as it was signed</summary><pre tabIndex={0}>{f.text}</pre></details>}
    </>
  )
}

function Changes({ pop, diff }: { pop: string; diff: Diff }) {
  const { added, removed, changed } = { added: diff.added ?? [], removed: diff.removed ?? [], changed: diff.changed ?? [] }
  if (!added.length && !removed.length && !changed.length) return <p>No network: {plural(diff.unchanged, 'network')} would stay as {diff.unchanged === 1 ? 'it is' : 'they are'}.</p>
  const link = (prefix: string) => <a href={hrefTo(pop, 'networks', prefix)}>{prefix}</a>
  return (
    <ul class="diff">
      {added.map(e => <li key={e.prefix} class="plus"><b aria-label="added">+</b> {link(e.prefix)} {e.cong}, {e.state}{e.cap_bytes_per_s ? `, at most ${rate(e.cap_bytes_per_s)}` : ''} <small class="quiet">{e.reason}</small></li>)}
      {removed.map(e => <li key={e.prefix} class="less"><b aria-label="removed">−</b> {link(e.prefix)} {e.cong}, {e.state}</li>)}
      {changed.map(c => <li key={c.prefix}><b aria-label="changed">~</b> {link(c.prefix)} {c.fields.map(f => `${f.field}: ${f.from} → ${f.to}`).join('; ')}</li>)}
      <li class="quiet">{plural(diff.unchanged, 'network')} unchanged</li>
    </ul>
  )
}

const largest = 8 << 20 // bytes; congctl says what its own limit is

// Push takes a plan file, says what it would change, and puts it in force.
function Push({ pop, live, intend }: PageOf) {
  const [file, set] = useState<{ name: string; text: string; diff: Diff }>()
  const [fault, fail] = useState<Refusal>()
  const read = async (f: File | undefined) => {
    set(undefined)
    fail(undefined)
    if (!f) return
    try {
      if (f.size > largest) throw new Refusal(`${f.name} is too large for a plan file`, '', 0)
      const text = await f.text()
      set({ name: f.name, text, diff: await ask<Diff>(pop, 'compare', { text }) })
    } catch (e) { fail(asRefusal(e)) }
  }
  const push = () => file && intend({
    title: `Put ${file.name} in force?`, query: 'push', body: { text: file.text, against: live.data?.plan ?? 0 }, yes: 'Push', grave: true,
    says: <><Changes pop={pop} diff={file.diff} /><p>It comes in force under a new number, and the plan is frozen until you unfreeze it.</p></>,
  })
  return (
    <Card title="Push a plan file" wide>
      <div class="row">
        <label>Plan file <input type="file" onChange={e => void read(e.currentTarget.files?.[0])} /></label>
        <button disabled={!file} onClick={push}>Push…</button>
      </div>
      <p class="quiet">Start from the plan in force: <code>congctl plan show &gt; plan.txt</code>. Nothing is changed before you confirm.</p>
      {fault && <Fault fault={fault} />}
      {file && <Changes pop={pop} diff={file.diff} />}
    </Card>
  )
}
