// Where the reader is: #/POP/PAGE/WHAT?QUERY. Links can be kept, sent and opened in a tab.
import { useEffect, useState } from 'preact/hooks'

export interface Place { pop: string; page: string; what: string; query: string }

export function placeOf(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const [pop = '', page = '', ...rest] = path.split('/').map(decode)
  return { pop, page: page || 'overview', what: rest.join('/'), query }
}

function decode(part: string): string {
  try { return decodeURIComponent(part) } catch { return part }
}

export function hrefTo(pop: string, page: string, what = ''): string {
  return '#/' + [pop, page, ...(what ? what.split('/') : [])].map(encodeURIComponent).join('/')
}

let kept = '' // of the page that keeps something in its address

// keep puts what a page shows into its address, without a step back in the browser's history.
export function keep(href: string, query: URLSearchParams) {
  kept = href + (query.size ? '?' + query.toString() : '')
  if (location.hash !== kept) history.replaceState(null, '', kept)
}

// backTo is a page as it was left.
export const backTo = (href: string) => kept.split('?')[0] === href ? kept : href

export function usePlace(): Place {
  const [place, set] = useState(placeOf(location.hash))
  useEffect(() => {
    const on = () => { set(placeOf(location.hash)); window.scrollTo(0, 0) }
    window.addEventListener('hashchange', on)
    return () => window.removeEventListener('hashchange', on)
  }, [])
  return place
}
