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

// refused is called when congctl no longer knows the tab's token, which is forgotten then: without one all can be read.
export const tokenEnds = { refused: () => {} }

export function headers(secret = token.get()): Record<string, string> {
  const h: Record<string, string> = { 'Content-Type': 'application/json' }
  if (secret) h['Congctl-Token'] = secret
  return h
}

export function forgetIfRefused(status: number) {
  if (status !== 401 || !token.get()) return
  token.set('')
  tokenEnds.refused()
}

export const queryURL = (pop: string, query: string) => `/api/pop/${encodeURIComponent(pop)}/v1/${query}`

async function send<A>(url: string, init: RequestInit, secret = token.get()): Promise<A> {
  let answer: Response
  try {
    answer = await fetch(url, { ...init, headers: headers(secret), signal: AbortSignal.timeout(limit), cache: 'no-store' })
  } catch (e) {
    const late = e instanceof DOMException && e.name === 'TimeoutError'
    throw new Refusal(late ? 'congctl did not answer within 20 s' : 'congctl does not answer', 'is it running? congctl status', 0)
  }
  if (answer.ok) return (await answer.json() ?? []) as A // null is a list without elements
  if (secret === token.get()) forgetIfRefused(answer.status)
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

// get may try another token than the tab's.
export const get = <A>(url: string, secret?: string) => send<A>(url, { method: 'GET' }, secret)

export const ask = <A>(pop: string, query: string, body: object = {}) =>
  send<A>(queryURL(pop, query), { method: 'POST', body: JSON.stringify(body) })
