// Where the reader is: #/POP/PAGE/WHAT. Links can be kept, sent and opened in a tab.
import { useEffect, useState } from 'preact/hooks'

export interface Place { pop: string; page: string; what: string }

export function placeOf(hash: string): Place {
  const [pop = '', page = '', ...rest] = hash.replace(/^#\/?/, '').split('/').map(decode)
  return { pop, page: page || 'overview', what: rest.join('/') }
}

function decode(part: string): string {
  try { return decodeURIComponent(part) } catch { return part }
}

export function hrefTo(pop: string, page: string, what = ''): string {
  return '#/' + [pop, page, ...(what ? what.split('/') : [])].map(encodeURIComponent).join('/')
}

export function usePlace(): Place {
  const [place, set] = useState(placeOf(location.hash))
  useEffect(() => {
    const on = () => { set(placeOf(location.hash)); window.scrollTo(0, 0) }
    window.addEventListener('hashchange', on)
    return () => window.removeEventListener('hashchange', on)
  }, [])
  return place
}
