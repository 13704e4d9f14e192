// Small things that several pages show.
import type { ComponentChildren } from 'preact'
import { states } from './words'
import type { Bounds, Happening } from './answers'
import { change, stamp } from './words'
import { hrefTo } from './route'

export function Card({ title, children, wide, more }: { title: string; children: ComponentChildren; wide?: boolean; more?: ComponentChildren }) {
  return (
    <section class={wide ? 'card wide' : 'card'}>
      <header><h2>{title}</h2>{more}</header>
      {children}
    </section>
  )
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>
}

export function State({ state }: { state: string }) {
  return <span class={'state s-' + state.replace(/[^a-z]/gi, '')} title={states[state] ?? ''}>{state}</span>
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <div class="fact"><dt>{name}</dt><dd>{children}</dd></div>
}

// Scroll is a region that scrolls sideways, by keyboard too.
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return <div class="scroll" tabIndex={0} role="region" aria-label={label}>{children}</div>
}

// reachOf is a scale that holds them all: intervals that stand beside each other share it.
export const reachOf = (...all: (Bounds | undefined)[]) =>
  1.15 * Math.max(0.05, ...all.flatMap(b => b ? [b.ratio, b.low ?? 1, b.high ?? 1] : []).map(v => Math.abs(Math.log(v))))

// Interval draws a ratio with its bounds around 1.
function Interval({ of, reach }: { of: Bounds; reach: number }) {
  const at = (v: number) => 150 + 145 * Math.log(v) / reach
  const better = of.low ? of.low > 1 : false
  const worse = of.high ? of.high < 1 : false
  const known = of.low && of.high
  return (
    <svg class={'interval ' + (better ? 'good' : worse ? 'bad' : 'unsure')} viewBox="0 0 300 24" role="img"
      aria-label={change(of.ratio) + (known ? `, between ${change(of.low!)} and ${change(of.high!)}` : ', no interval yet')}>
      <line x1="5" x2="295" y1="12" y2="12" class="axis" />
      <line x1="150" x2="150" y1="2" y2="22" class="one" />
      {known && <line x1={at(of.low!)} x2={at(of.high!)} y1="12" y2="12" class="bar" />}
      <circle cx={at(of.ratio)} cy="12" r="5" />
    </svg>
  )
}

export function Ratio({ name, of, reach }: { name: string; of: Bounds; reach: number }) {
  return (
    <div class="ratio">
      <span>{name}</span><Interval {...{ of, reach }} />
      <span class="num">{change(of.ratio)}{of.low && of.high ? <small> {change(of.low)} to {change(of.high)}</small> : null}</span>
    </div>
  )
}

export function Events({ pop, events, of }: { pop: string; events: Happening[]; of?: string }) {
  return (
    <ul class="events">
      {events.map(e => (
        <li key={e.id}>
          <time>{stamp(e.at_unix_s)}</time>
          <span class="kind">{e.kind}</span>
          <span>{e.prefix && e.prefix !== of && <a href={hrefTo(pop, 'networks', e.prefix)}>{e.prefix}</a>} {e.text}</span>
        </li>
      ))}
    </ul>
  )
}
