// What keeps the page current. The status is small and asked every few seconds while the page is
// visible; all else changes with a round, a plan or an action, and is asked again only when the status
// shows one. So many open pages cost little, and a closed laptop nothing.
import { useEffect, useRef, useState } from 'preact/hooks'
import { Refusal, ask } from './ask'
import type { Status } from './answers'

const every = 5_000 // ms

export interface Answer<A> { data?: A; fault?: Refusal }

export interface Live extends Answer<Status> { now: number; epoch: string; refresh: () => void }

export function asRefusal(e: unknown): Refusal {
  return e instanceof Refusal ? e : new Refusal(String(e), '', 0)
}

export function useStatus(pop: string): Live {
  const [state, set] = useState<Answer<Status>>({})
  const [now, tick] = useState(Date.now() / 1000)
  const [turn, again] = useState(0)
  useEffect(() => set({}), [pop]) // not another PoP's
  useEffect(() => {
    let ended = false
    let timer = 0
    const once = async () => {
      clearTimeout(timer)
      if (!document.hidden) {
        let next: Answer<Status>
        try { next = { data: await ask<Status>(pop, 'status') } } catch (e) { next = { fault: asRefusal(e) } }
        if (ended) return
        set(old => next.data ? next : { ...old, ...next })
        tick(Date.now() / 1000)
      }
      if (!ended) timer = window.setTimeout(once, every)
    }
    const seen = () => { if (!document.hidden) void once() }
    document.addEventListener('visibilitychange', seen)
    void once()
    return () => { ended = true; clearTimeout(timer); document.removeEventListener('visibilitychange', seen) }
  }, [pop, turn])
  const s = state.data
  return { ...state, now, epoch: s ? [s.round_unix_s, s.plan, s.stopped, s.frozen, turn].join() : '', refresh: () => again(n => n + 1) }
}

// useAsk asks again when epoch changes, and shows the old answer until the new one is there.
export function useAsk<A>(pop: string, query: string, body: object, epoch: string): Answer<A> {
  const [state, set] = useState<Answer<A> & { of?: string }>({})
  const words = JSON.stringify(body)
  const of = `${pop} ${query} ${words}`
  const last = useRef('')
  useEffect(() => {
    if (!epoch) return
    let ended = false
    last.current = of
    ask<A>(pop, query, JSON.parse(words) as object).then(
      data => { if (!ended) set({ data, of }) },
      e => { if (!ended) set(old => ({ ...(old.of === of ? old : {}), fault: asRefusal(e), of })) })
    return () => { ended = true }
  }, [of, epoch])
  return state.of === of ? state : {}
}
