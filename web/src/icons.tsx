// Pictures of buttons, drawn here: a font may not have them.
const stroke = { fill: 'none', stroke: 'currentColor', 'stroke-width': 2, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' } as const

const Icon = ({ path }: { path: string }) => <svg width="18" height="18" viewBox="0 0 24 24" aria-hidden="true" class="pic"><path d={path} {...stroke} /></svg>

export const Key = () => <Icon path="M15 9a4 4 0 1 0-3.6 4L13 15h2v2h2v2h4v-3l-6-6z" />
export const Sun = () => <Icon path="M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5" />
export const Moon = () => <Icon path="M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.500 10.500z" />
