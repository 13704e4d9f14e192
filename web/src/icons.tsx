// Pictures of buttons, drawn here: a font may not have them.
const stroke = { fill: 'none', stroke: 'currentColor', 'stroke-width': 2, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' } as const

const Icon = ({ path }: { path: string }) => <svg width="18" height="18" viewBox="0 0 24 24" aria-hidden="true" class="pic"><path d={path} {...stroke} /></svg>

export const Locked = () => <Icon path="M6 11h12v9H6zM8 11V8a4 4 0 0 1 8 0v3" />
export const Open = () => <Icon path="M6 11h12v9H6zM8 11V8a4 4 0 0 1 7.800-1.200" />
export const Sun = () => <Icon path="M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5" />
export const Moon = () => <Icon path="M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.500 10.500z" />
