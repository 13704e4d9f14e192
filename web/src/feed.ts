// What the server tells by itself: a stream of messages, each of which is the whole state. EventSource can send no
// token, so the stream is read here.
import { Refusal, forgetIfRefused, headers, queryURL, refusalOf } from './ask'
import type { Pulse } from './answers'

const silence = 15_000 // ms without a message, of which one is due every 5 s: then the stream is cut

// follow hands on each message, and returns when the server ends the stream, as it does now and then.
export async function follow(pop: string, on: (p: Pulse) => void, leave: AbortSignal): Promise<void> {
  const quiet = new AbortController()
  let timer = 0
  const heard = () => { clearTimeout(timer); timer = window.setTimeout(() => quiet.abort(), silence) }
  heard()
  try {
    const answer = await fetch(queryURL(pop, 'live'), { headers: headers(), signal: AbortSignal.any([leave, quiet.signal]), cache: 'no-store' })
    if (!answer.ok) { forgetIfRefused(answer.status); throw await refusalOf(answer) }
    if (!answer.body) throw new Refusal('no stream', '', 0)
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      heard()
      const blocks = (rest + value).split('\n\n')
      rest = blocks.pop()!
      for (const b of blocks) if (b.startsWith('data: ')) on(JSON.parse(b.slice(6)) as Pulse)
    }
  } finally {
    clearTimeout(timer)
    quiet.abort() // a reader that is given up in the middle
  }
}
