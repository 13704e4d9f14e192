// What keeps the page current. The server tells the status as it changes, while the page is visible; all else is asked
// again only when that shows a new round, plan, action or event. Where the stream is cut, the page asks every few
// seconds instead, says so, and tries again. So many open pages cost little, and a closed laptop nothing.
import { useEffect, useState } from 'preact/hooks'
import { Refusal, ask } from './ask'
import { follow } from './feed'
import type { Pulse, Status } from './answers'

const every = 5_000 // ms between two questions without a stream
const longest = 30_000 // ms between two tries for a stream
const steady = 60_000 // ms: a stream that lasted so long is asked for again at once

export interface Answer<A> { data?: A; fault?: Refusal }

// Live has what an answer depends on: most on the epoch, some on events too, and the fleet on what its hosts do.
export interface Live extends Answer<Status> { now: number; epoch: string; events: string; fleet: string; feed: Feed; refresh: () => void }

// Feed is how the page learns: '' before the first answer.
export type Feed = '' | 'live' | 'asking'

export function asRefusal(e: unknown): Refusal {
  return e instanceof Refusal ? e : new Refusal(String(e), '', 0)
}

interface Known extends Answer<Status> { pulse?: Pulse; feed: Feed }

type Learn = (next: (old: Known) => Known) => void

async function askOnce(pop: string, learn: Learn) {
  try {
    const data = await ask<Status>(pop, 'status')
    learn(({ fault: _, ...old }) => ({ ...old, data }))
  } catch (e) { learn(old => ({ ...old, fault: asRefusal(e) })) }
}

// watch learns until it is left.
async function watch(pop: string, learn: Learn, leave: AbortSignal) {
  let next = 0 // when to try for a stream
  let pause = every
  while (!leave.aborted) {
    if (Date.now() >= next) {
      const began = Date.now()
      try {
        await follow(pop, pulse => { learn(() => ({ data: pulse.status, pulse, feed: 'live' })); pause = every }, leave)
      } catch { /* the question below says what is wrong */ }
      if (Date.now() - began > steady) continue
      next = Date.now() + pause
      pause = Math.min(2 * pause, longest)
    }
    if (leave.aborted) return
    learn(old => ({ ...old, feed: 'asking' }))
    await askOnce(pop, learn)
    await new Promise(resolve => setTimeout(resolve, every))
  }
}

export function useStatus(pop: string): Live {
  const [state, set] = useState<Known>({ feed: '' })
  const [now, tick] = useState(Date.now() / 1000)
  const [turn, again] = useState(0)
  useEffect(() => set({ feed: '' }), [pop]) // not another PoP's
  useEffect(() => {
    let leave = new AbortController()
    const learnFor = (signal: AbortSignal): Learn => next => { if (!signal.aborted) { set(next); tick(Date.now() / 1000) } }
    const seen = () => {
      leave.abort()
      if (document.hidden) return
      leave = new AbortController()
      void watch(pop, learnFor(leave.signal), leave.signal)
    }
    document.addEventListener('visibilitychange', seen)
    seen()
    return () => { leave.abort(); document.removeEventListener('visibilitychange', seen) }
  }, [pop])
  useEffect(() => {
    let ended = false
    if (turn) void askOnce(pop, next => { if (!ended) set(next) })
    return () => { ended = true }
  }, [turn])
  const s = state.data
  const epoch = s ? [s.round_unix_s, s.plan, s.stopped, s.frozen, turn].join() : ''
  const fleet = state.feed === 'live' ? state.pulse?.fleet : Math.floor(now / 5)
  return { ...state, now, epoch, events: epoch && `${epoch} ${state.pulse?.last_event}`, fleet: epoch && `${epoch} ${fleet}`, refresh: () => again(n => n + 1) }
}

// useAsk asks again when epoch changes, and shows the old answer until the new one is there.
export function useAsk<A>(pop: string, query: string, body: object, epoch: string): Answer<A> {
  const [state, set] = useState<Answer<A> & { of?: string }>({})
  const words = JSON.stringify(body)
  const of = `${pop} ${query} ${words}`
  useEffect(() => {
    if (!epoch) return
    let ended = false
    ask<A>(pop, query, JSON.parse(words) as object).then(
      data => { if (!ended) set({ data, of }) },
      e => { if (!ended) set(old => ({ ...(old.of === of ? old : {}), fault: asRefusal(e), of })) })
    return () => { ended = true }
  }, [of, epoch])
  return state.of === of ? state : {}
}
