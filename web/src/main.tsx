// The page: what is asked first, the frame around all pages, and which page it is.
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import 'uplot/dist/uPlot.min.css'
import './style.css'
import { Refusal, get, token, tokenEnds } from './ask'
import { type Feed, asRefusal, useStatus } from './live'
import { hrefTo, usePlace } from './route'
import { turn, useTheme } from './theme'
import { Locked, Moon, Open, Sun } from './icons'
import { Confirm, Deed, Fault, type Know, TokenDialog, TokenForm, deeds } from './dialog'
import type { Desk } from './answers'
import { Overview } from './overview'
import { Networks } from './networks'
import { Detail } from './network'
import { Rounds } from './rounds'
import { Plans } from './plans'
import { FleetPage } from './fleet'
import { LabPage } from './lab'
import { Empty } from './parts'
import { headline } from './health'
import type { PageOf } from './page'


function App() {
  const [state, set] = useState<{ desk?: Desk; fault?: Refusal; locked?: boolean }>({})
  const [ended, end] = useState(false) // the token
  const known: Know = async (secret = token.get()) => {
    const desk = await get<Desk>('/api/desk', secret)
    token.set(secret)
    if (secret) end(false)
    set({ desk })
    return desk
  }
  const first = () => void known().catch(e => {
    const fault = asRefusal(e)
    if (fault.status !== 401) set(old => old.desk ? old : { fault })
    else if (!token.get()) set({ locked: true }) // else it is asked again without the token
  })
  useEffect(() => {
    tokenEnds.refused = () => { end(true); first() }
    first()
  }, [])
  if (state.desk) return <Frame desk={state.desk} known={known} ended={ended} />
  if (state.locked) return <main><h1>congctl</h1><TokenForm known={known} met={() => {}}>This dashboard is for holders of a token. Make one on its host: <code>sudo congctl token add NAME --role viewer</code></TokenForm></main>
  return <main>{state.fault ? <Fault fault={state.fault} /> : <p class="quiet">Asking congctl…</p>}</main>
}

const pages: [page: string, name: string][] = [['overview', 'Overview'], ['networks', 'Networks'], ['rounds', 'Rounds'], ['plans', 'Plans'], ['fleet', 'Fleet'], ['lab', 'Lab']]

function Frame({ desk, known, ended }: { desk: Desk; known: Know; ended: boolean }) {
  const place = usePlace()
  const pop = place.pop || desk.pops[0] || ''
  const live = useStatus(pop)
  const look = useTheme()
  const [deed, intend] = useState<Deed>()
  const [who, show] = useState(false)
  const s = live.data
  const shown = pages.filter(([p]) => p !== 'fleet' || desk.fleet)
  useEffect(() => { document.title = `${pages.find(([p]) => p === place.page)?.[1] ?? place.page} · ${pop} · congctl` }, [place.page, pop])
  useKeys(shown.map(([p]) => hrefTo(pop, p)))
  const say = headline(live)
  return (
    <>
      <a class="skip" href="#main" onClick={e => { e.preventDefault(); document.getElementById('main')?.focus() }}>Skip to content</a>
      <header class="top">
        <a class="brand" href={hrefTo(pop, 'overview')}>congctl</a>
        {desk.pops.length > 1
          ? <select aria-label="PoP" value={pop} onChange={e => { location.hash = hrefTo(e.currentTarget.value, place.page) }}>
            {desk.pops.map(p => <option key={p} value={p}>{p}</option>)}</select>
          : <span class="pop">{pop}</span>}
        <nav aria-label="Pages">
          {shown.map(([p, name], i) => <a key={p} href={hrefTo(pop, p)} aria-current={place.page === p ? 'page' : undefined} title={`Key ${i + 1}`}>{name}</a>)}
        </nav>
        <span class={'pill ' + say.how}>{say.short}</span>
        <Feeding feed={live.feed} />
        {s && (s.stopped
          ? <button class="main" onClick={() => intend(deeds.resume)}>Resume</button>
          : <button class="grave" onClick={() => intend(deeds.stop)}>Stop</button>)}
        <button class="icon" onClick={() => show(true)} title={desk.name ? `Token ${desk.name}` : 'Look only: no token'} aria-label={desk.name ? `Token ${desk.name}` : 'Use a token'}>{desk.role === 'operator' ? <Open /> : <Locked />}{desk.name && <span class="me">{desk.name}</span>}</button>
        <button class="icon" onClick={turn} title="Theme" aria-label={look === 'dark' ? 'Light theme' : 'Dark theme'}>{look === 'dark' ? <Sun /> : <Moon />}</button>
      </header>
      <main id="main" tabIndex={-1}>
        {ended && <p class="note" role="alert">Your token has expired or was removed: this page can only look now.</p>}
        {live.fault && <Fault fault={live.fault} />}
        <Page {...{ desk, pop, live, intend, what: place.what, query: place.query }} name={place.page} />
      </main>
      <footer>congctl {desk.version} · times of {Intl.DateTimeFormat().resolvedOptions().timeZone} · <a href="/licences.txt">licences of this page</a></footer>
      {deed && <Confirm {...{ pop, deed, desk, known }} done={live.refresh} close={() => intend(undefined)} />}
      {who && <TokenDialog {...{ desk, known }} close={() => show(false)} />}
    </>
  )
}

// Feeding says how old what is shown may be.
function Feeding({ feed }: { feed: Feed }) {
  if (!feed) return null
  const says = feed === 'live' ? 'Live: changes are shown as they happen' : 'The stream is cut: this page asks every 5 s'
  return <span class={'feed ' + feed} role="img" aria-label={says} title={says}><span class="me">{feed === 'live' ? 'live' : 'every 5 s'}</span></span>
}

function Page(p: PageOf & { name: string }) {
  switch (p.name) {
    case 'overview': return <Overview {...p} />
    case 'networks': return p.what ? <Detail {...p} /> : <Networks key={p.query} {...p} />
    case 'rounds': return <Rounds {...p} />
    case 'plans': return <Plans {...p} />
    case 'fleet': return <FleetPage {...p} />
    case 'lab': return <LabPage />
  }
  return <Empty>There is no page {p.name}. <a href={hrefTo(p.pop, 'overview')}>Overview</a></Empty>
}

// useKeys: 1 to 6 are the pages, / is the search field.
function useKeys(hrefs: string[]) {
  useEffect(() => {
    const on = (e: KeyboardEvent) => {
      const at = e.target as HTMLElement
      if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName) || document.querySelector('dialog[open]')) return
      const href = hrefs[Number(e.key) - 1]
      if (href) location.hash = href
      const search = document.querySelector<HTMLInputElement>('input[type=search]')
      if (e.key === '/' && search) { e.preventDefault(); search.focus() }
    }
    window.addEventListener('keydown', on)
    return () => window.removeEventListener('keydown', on)
  }, [hrefs.join()])
}

render(<App />, document.getElementById('app')!)
