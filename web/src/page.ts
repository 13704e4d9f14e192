import type { Desk } from './answers'
import type { Live } from './live'
import type { Deed } from './dialog'

// PageOf is what each page is given.
export interface PageOf { desk: Desk; pop: string; live: Live; intend: (d: Deed) => void; what: string; query: string }
