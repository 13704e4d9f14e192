// Questions to the server that this page came from, and nothing else.

export class Refusal extends Error {
  constructor(text: string, readonly hint: string, readonly status: number) { super(text) }
}

const limit = 20_000 // ms for an answer
const tokenKey = 'congctl-token'

// The token lives as long as the tab, and goes only where a request says so: no other page can use it.
export const token = {
  get: () => sessionStorage.getItem(tokenKey) ?? '',
  set: (secret: string) => secret ? sessionStorage.setItem(tokenKey, secret) : sessionStorage.removeItem(tokenKey),
}

export function headers(): Record<string, string> {
  const h: Record<string, string> = { 'Content-Type': 'application/json' }
  if (token.get()) h['Congctl-Token'] = token.get()
  return h
}

export const queryURL = (pop: string, query: string) => `/api/pop/${encodeURIComponent(pop)}/v1/${query}`

async function send<A>(url: string, init: RequestInit): Promise<A> {
  let answer: Response
  try {
    answer = await fetch(url, { ...init, headers: headers(), signal: AbortSignal.timeout(limit), cache: 'no-store' })
  } catch (e) {
    const late = e instanceof DOMException && e.name === 'TimeoutError'
    throw new Refusal(late ? 'congctl did not answer within 20 s' : 'congctl does not answer', 'is it running? congctl status', 0)
  }
  if (answer.ok) return (await answer.json() ?? []) as A // null is a list without elements
  throw await refusalOf(answer)
}

export async function refusalOf(answer: Response): Promise<Refusal> {
  const text = await answer.text()
  try {
    const e = JSON.parse(text) as { error?: string; hint?: string }
    return new Refusal(e.error ?? text, e.hint ?? '', answer.status)
  } catch {
    return new Refusal(text.trim() || answer.statusText, '', answer.status)
  }
}

export const get = <A>(url: string) => send<A>(url, { method: 'GET' })

export const ask = <A>(pop: string, query: string, body: object = {}) =>
  send<A>(queryURL(pop, query), { method: 'POST', body: JSON.stringify(body) })
