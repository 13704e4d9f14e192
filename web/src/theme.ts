// Dark or light: as the system says, until the reader says otherwise.
import { useEffect, useState } from 'preact/hooks'

export type Theme = 'dark' | 'light'
const key = 'congctl-theme'
const dark = matchMedia('(prefers-color-scheme: dark)')
const watchers = new Set<() => void>()

export function theme(): Theme {
  const said = localStorage.getItem(key)
  return said === 'dark' || said === 'light' ? said : dark.matches ? 'dark' : 'light'
}

function show() {
  document.documentElement.dataset['theme'] = theme()
  watchers.forEach(fn => fn())
}

export function turn() {
  localStorage.setItem(key, theme() === 'dark' ? 'light' : 'dark')
  show()
}

export function useTheme(): Theme {
  const [now, set] = useState(theme())
  useEffect(() => {
    const on = () => set(theme())
    watchers.add(on)
    return () => { watchers.delete(on) }
  }, [])
  return now
}

dark.addEventListener('change', show)
show()
