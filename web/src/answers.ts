// What control's queries answer, as far as the page shows it. The Go types of the same JSON are in
// internal/loop/control/view.go and beside it.

export interface Desk { version: string; pops: string[]; fleet: boolean; role: 'operator' | 'viewer'; name?: string; pop?: string }

export interface Agent {
  namespaces: string[] | null
  default_congestion_controls: string[] | null // none at a controller
  polls: number
  coverage_ratio: number
  coverage_of: number
  dropped_closes: number
  ring_full: number
  malformed_closes: number
  switches_refused: number
  not_followed: number
  unpolled_accepts: number
  prefixes_in_force: number
  plan: number
  starved?: string
  window_unknown?: string
  alarms: string[] | null
  ledger: { live: number; emitted: number[] | null }
}

export interface Status {
  running: boolean
  version: string
  pop: string
  started_unix_s?: number
  tier?: string
  tier_reason?: string
  stopped: boolean
  stopped_at_next_start: boolean
  frozen: boolean
  plan: number
  round_unix_s?: number
  ranked: number
  ranked_needed: number
  all_networks?: boolean
  treatment?: string
  windows_to_decision: number
  first_decision_unix_s?: number
  agent?: Agent
}

// Pulse is a message of the stream: the status, and what changes with what else can be asked for.
export interface Pulse { status: Status; last_event: number; fleet?: string }

export interface Network {
  prefix: string
  state: string
  guard?: string
  since_unix_s?: number
  why?: string
  performance_bytes_per_s: number
  performance_connections: number
  treated_bytes_per_s?: number
  in_group: boolean
  known_windows: number
  duty: number
  flap: number
  min_rtt_us: number
  retrans_share: number
  signature?: string
  rate_ratio?: number
  goodput_ratio?: number
  claim?: string
  treatment?: string
  arm: string
  arm_until_unix_s?: number
}

export interface WindowLine {
  window_start: number
  run_end?: number
  known: boolean
  why?: string
  own?: number
  borrowed?: number
  performance_bytes_per_s?: number
  boundary_bytes_per_s?: number
  rank?: number
  ranked?: number
  in_group: boolean
}

export interface Pair {
  start: number
  end: number
  treatment_connections: number
  control_connections: number
  rate_ratio: number
  treatment_rate_bytes_per_s: number
  control_rate_bytes_per_s: number
  treatment_retrans_share: number
  control_retrans_share: number
}

export interface Explanation {
  prefix: string
  round_start: number
  state: string
  known_windows: number
  in_group_windows: number
  duty: number
  flap: number
  performance_bytes_per_s: number
  windows: WindowLine[] | null
  guards: { name: string; state: string; text: string }[] | null
  verdict: string[] | null
  selected?: { since: number; reason: string; class?: string; network?: string }
  signature?: { class: string }
  experiment?: {
    since?: number
    role?: string
    cooling_until?: number
    pairs?: Pair[]
    rate_ratio?: number
    rate_ratio_low?: number
    rate_ratio_high?: number
    goodput_ratio?: number
    goodput_ratio_low?: number
    goodput_ratio_high?: number
    log10_evidence_of_benefit?: number
    log10_evidence_needed?: number
  }
  pacing_cap?: { cap_bytes_per_s?: number; no_cap?: string }
  thresholds: { [name: string]: unknown }
}

export interface Round {
  round_start_unix_s: number
  window_start_unix_s: number
  known: number
  ranked: number
  in_group: number
  selected: number
  new: number
  released: number
  refused: number
  boundary_bytes_per_s: number
  note?: string
}

export interface Happening { id: number; at_unix_s: number; kind: string; prefix?: string; text: string }

export interface PlanLine {
  serial: number
  created_unix_s: number
  by: string
  networks: number
  added: number
  removed: number
  changed: number
  state: string
  why: string
  hash: string
}

export interface PlanFile { serial: number; created_unix_s: number; hash: string; text: string; in_force: boolean }

export interface Entry { prefix: string; cong: string; state: string; cap_bytes_per_s: number; reason: string }
export interface FieldChange { field: string; from: string; to: string }
export interface Diff {
  from: number
  to: number
  header: FieldChange[] | null
  added: Entry[] | null
  removed: Entry[] | null
  changed: { prefix: string; fields: FieldChange[] }[] | null
  unchanged: number
}

export interface Bounds { ratio: number; low?: number; high?: number }
export interface Overall extends Bounds { pairs: number; bounds_in_s?: number }
export interface Taken { share: number; low: number; high: number }
export interface Effect {
  treatment?: string
  from_unix_s: number
  to_unix_s: number
  networks: number
  estimates: { metric: string; pairs: number; interval: string; ratios: (Bounds & { quantile: number })[] | null }[] | null
  overall?: Overall
  goodput_over_busy_time?: Bounds & { pairs: number }
  cost?: { treatment_retrans_share: number; control_retrans_share: number; treatment_queue_us: number; control_queue_us: number }
  taken_from_others?: Taken
  aa: { metric: string; pairs: number; suspect?: boolean }[] | null
  findings: { text: string; fix: string }[] | null
}

export interface Host {
  host: string
  connected: boolean
  version: string
  plan: number
  prefixes_in_force: number
  stopped: boolean
  astray: boolean
  share: number
  counted: number
  capped: boolean
  rate_bytes_per_s: number
  rate_to_pop: number
}
export interface Fleet { pop: string; stage: string; plan: number; next?: number; stopped: boolean; hosts: Host[] }

export interface Rates { points: { window_start_unix_s: number; connections: number; p10_bytes_per_s: number; p50_bytes_per_s: number }[]; missing: number; damaged: number }

// Recent is of each network that was asked for: oldest first, 0 where it is not known.
export interface Recent { rates_bytes_per_s: number[][] }
