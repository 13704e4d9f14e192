// Questions that stand in the way: is this meant, and by whom.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Refusal, ask } from './ask'
import { asRefusal } from './live'
import type { Desk } from './answers'

export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null)
  useEffect(() => { box.current?.showModal() }, [])
  return (
    <dialog ref={box} onClose={close} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </dialog>
  )
}

// Deed is an action of control, with what it does in words.
export interface Deed { title: string; query: string; body?: object; says: ComponentChildren; yes: string; grave?: boolean }

export const deeds = {
  stop: {
    title: 'Stop all treatment?', query: 'stop', body: { evict: false }, yes: 'Stop treatment', grave: true,
    says: <p>From the next moment on no connection is treated. Connections that are treated already keep what they have until they end. Measuring goes on. This holds across restarts, until you resume.</p>,
  },
  evict: {
    title: 'Stop, and move treated connections back?', query: 'stop', body: { evict: true }, yes: 'Stop and move back', grave: true,
    says: <p>No connection is treated any more, and those that are treated get the default congestion control back. This holds across restarts, until you resume.</p>,
  },
  resume: { title: 'Resume treatment?', query: 'resume', yes: 'Resume', says: <p>The plan in force is applied to new responses again.</p> },
  freeze: { title: 'Freeze the plan?', query: 'freeze', yes: 'Freeze', says: <p>The plan stays as it is: rounds go on, and add and release nothing.</p> },
  unfreeze: { title: 'Unfreeze the plan?', query: 'unfreeze', yes: 'Unfreeze', says: <p>The next round may add and release networks again.</p> },
  abort: { title: 'Take the roll-out back?', query: 'abort', yes: 'Take it back', grave: true, says: <p>All hosts get the last plan that settled.</p> },
} satisfies Record<string, Deed>

// mayAct: to compare plans takes what pushing one does.
export const mayAct = (me: Desk, pop: string) => me.role === 'operator' && (!me.pop || me.pop === pop)

// Know asks who one is, with a token that becomes the tab's if congctl knows it.
export type Know = (secret?: string) => Promise<Desk>

interface AskFirst { pop: string; deed: Deed; desk: Desk; done: () => void; close: () => void; known: Know }

export function Confirm({ pop, deed, desk, done, close, known }: AskFirst) {
  const [fault, set] = useState<Refusal>()
  const [busy, work] = useState(false)
  const [me, meet] = useState(desk)
  useEffect(() => meet(desk), [desk]) // its token may have ended
  const act = async () => {
    work(true)
    try {
      await ask(pop, deed.query, deed.body ?? {})
      done()
      close()
    } catch (e) {
      const r = asRefusal(e)
      set(r.status ? r : new Refusal(r.message, 'Whether it was done is not known: close this and look at the state.', 0))
      work(false)
    }
  }
  const may = mayAct(me, pop)
  return (
    <Dialog title={deed.title} close={close}>
      {deed.says}
      {may ? <p class="quiet">It is done in the name of token <b>{me.name}</b>, and kept as an event.</p>
        : <TokenField me={me} known={known} met={meet} />}
      {fault && <Fault fault={fault} />}
      <div class="row end">
        <button onClick={close}>Cancel</button>
        <button class={deed.grave ? 'grave' : 'main'} disabled={!may || busy} onClick={act}>{busy ? 'Asking…' : deed.yes}</button>
      </div>
    </Dialog>
  )
}

function TokenField({ me, known, met }: { me: Desk; known: Know; met: (d: Desk) => void }) {
  return (
    <TokenForm known={known} met={met}>{me.name ? `Token ${me.name} may only look.` : 'Without a token this page may only look.'} To act, paste
      an operator's token. Make one on this host: <code>sudo congctl token add NAME --role operator</code></TokenForm>
  )
}

// TokenForm says why it asks for a token.
export function TokenForm({ known, met, children }: { known: Know; met: (d: Desk) => void; children: ComponentChildren }) {
  const [text, type] = useState('')
  const [fault, set] = useState<Refusal>()
  const use = async (e: Event) => {
    e.preventDefault()
    try {
      met(await known(text.trim()))
      set(undefined)
    } catch (e) { set(asRefusal(e)) }
  }
  return (
    <form onSubmit={use}>
      <p class="quiet">{children}</p>
      <div class="row">
        <label class="grow">Token <input type="password" autocomplete="off" value={text} onInput={e => type(e.currentTarget.value)} /></label>
        <button disabled={!text.trim()}>Use token</button>
      </div>
      {fault && <Fault fault={fault} />}
    </form>
  )
}

export function TokenDialog({ desk, close, known }: { desk: Desk; close: () => void; known: Know }) {
  const [me, meet] = useState(desk)
  const forget = async () => meet(await known(''))
  return (
    <Dialog title="Token" close={close}>
      {me.name
        ? <p>You use token <b>{me.name}</b>, {me.role === 'operator' ? 'which may act' : 'which may look'}{me.pop ? `, of PoP ${me.pop}` : ''}. This tab forgets it when it closes.</p>
        : null}
      {me.role !== 'operator' && <TokenField me={me} known={known} met={meet} />}
      <div class="row end">
        {me.name && <button onClick={forget}>Forget it</button>}
        <button class="main" onClick={close}>Done</button>
      </div>
    </Dialog>
  )
}

export function Fault({ fault }: { fault: Refusal }) {
  return <p class="fault" role="alert"><b>{fault.message}</b>{fault.hint && <span> {fault.hint}</span>}</p>
}
