package outcome

// Run is what a world saw of one cell with one seed. Times are microseconds of the world's
// own clock since the first flow was due, unless a name says otherwise; a world that
// failed sets Error and whatever it has.
type Run struct {
	Schema int    `json:"schema"` // 1
	Cell   string `json:"cell"`   // Cell.ID
	Seed   uint64 `json:"seed"`
	World  string `json:"world"`  // vm, netns
	Kernel string `json:"kernel"` // uname -r
	HZ     int    `json:"hz"`
	Error  string `json:"error,omitempty"`

	Flows   []FlowRun `json:"flows"`
	Samples []Sample  `json:"samples"`
	Probes  []Probe   `json:"probes,omitempty"` // while flows run
	Idle    []Probe   `json:"idle"`             // before the first flow
	// ProbeBytes is a probe's frame towards the receiver, as tc counts it.
	ProbeBytes uint32 `json:"probe_bytes,omitempty"`
	Hops       []Hop  `json:"hops"`
	Links      []Link `json:"links"`
	Host       Host   `json:"host"`
}

// FlowRun is one flow of a cell.
type FlowRun struct {
	Name     string     `json:"name"`
	Cong     string     `json:"cong"`      // asked for
	CongSeen string     `json:"cong_seen"` // by inet_diag, of the sender's last connection
	Conns    []Transfer `json:"conns"`     // one for each connection
	// Arrived is the receiver's progress, cumulative over the connections, at least one
	// mark per SampleUs while bytes arrive.
	Arrived []Mark `json:"arrived"`

	SegsOut         uint64 `json:"segs_out"`
	DataSegsOut     uint64 `json:"data_segs_out"`
	BytesSent       uint64 `json:"bytes_sent"`
	BytesRetrans    uint64 `json:"bytes_retrans"`
	TotalRetrans    uint64 `json:"total_retrans"`
	BusyUs          uint64 `json:"busy_us"`
	RwndLimitedUs   uint64 `json:"rwnd_limited_us"`
	SndbufLimitedUs uint64 `json:"sndbuf_limited_us"`
	ReordSeen       uint64 `json:"reord_seen"`
	MSS             uint32 `json:"mss"`
	MinRTTUs        uint32 `json:"min_rtt_us"`
}

// Transfer is one connection, seen by the receiver.
type Transfer struct {
	StartUs uint64 `json:"start_us"` // connect was called
	EndUs   uint64 `json:"end_us"`   // last byte arrived; 0: not ended
	Bytes   uint64 `json:"bytes"`    // received
	Error   string `json:"error,omitempty"`
}

// Mark is a point of a cumulative count.
type Mark struct {
	AtUs  uint64 `json:"at_us"`
	Bytes uint64 `json:"bytes"`
}

// Sample is the sender's socket at one time, from the product's own sampler.
type Sample struct {
	AtUs            uint64 `json:"at_us"`
	Flow            string `json:"flow"`
	CAState         uint8  `json:"ca_state"`
	Cwnd            uint32 `json:"cwnd"`
	Ssthresh        uint32 `json:"ssthresh"`
	SrttUs          uint32 `json:"srtt_us"`
	MinRTTUs        uint32 `json:"min_rtt_us"`
	PacingBytesPerS uint64 `json:"pacing_bytes_per_s"`
	DeliveryBytesPS uint64 `json:"delivery_bytes_per_s"`
	Unacked         uint32 `json:"unacked"`
	Lost            uint32 `json:"lost"`
	TotalRetrans    uint32 `json:"total_retrans"`
	BytesAcked      uint64 `json:"bytes_acked"`
	// BBR as inet_diag reports it, zero for others; gains are multiples of 1/256.
	BBRBwBytesPerS uint64 `json:"bbr_bw_bytes_per_s,omitempty"`
	BBRMinRTTUs    uint32 `json:"bbr_min_rtt_us,omitempty"`
	BBRPacingGain  uint32 `json:"bbr_pacing_gain,omitempty"`
	BBRCwndGain    uint32 `json:"bbr_cwnd_gain,omitempty"`
	// QueueBytes is the backlog of the bottleneck, WireBytes what it has sent so far, as
	// tc counts them. If the sender's own tbf is narrower than the path, it is the
	// bottleneck here.
	QueueBytes uint32 `json:"queue_bytes"`
	WireBytes  uint64 `json:"wire_bytes"`
}

// Probe is an ICMP echo from srv to cli through the bottleneck. RTTUs 0: lost.
type Probe struct {
	AtUs  uint64 `json:"at_us"`
	RTTUs uint64 `json:"rtt_us"`
}

// Roles of hops.
const (
	RoleSender     = "sender"     // the sender's own qdisc
	RoleBottleneck = "bottleneck" // where the rate is
	RoleLoss       = "loss"       // where packets towards the receiver are lost on purpose
	RoleDelay      = "delay"      // the delay line towards the receiver
	RoleBack       = "back"       // the way back
)

// Hop is a qdisc's own counters at the end of the cell. One qdisc may play several roles.
// Sent packets are counted after drops.
type Hop struct {
	Node       string   `json:"node"`  // srv, pre, bn, wan, cli
	Link       string   `json:"link"`  // device name
	Qdisc      string   `json:"qdisc"` // kind
	Roles      []string `json:"roles"`
	Packets    uint64   `json:"packets"`
	Bytes      uint64   `json:"bytes"`
	Drops      uint64   `json:"drops"`
	Overlimits uint64   `json:"overlimits"`
	Requeues   uint64   `json:"requeues"`
	Marked     uint64   `json:"marked,omitempty"` // ECN, where the kind counts it
	Backlog    uint32   `json:"backlog_bytes"`
	LimitDrops uint64   `json:"limit_drops"` // seen to be of a full queue (see world), part of Drops
}

// Link is a device at the end of the cell.
type Link struct {
	Node      string `json:"node"`
	Name      string `json:"name"`
	TxPackets uint64 `json:"tx_packets"`
	TxBytes   uint64 `json:"tx_bytes"`
	TxDropped uint64 `json:"tx_dropped"`
	RxPackets uint64 `json:"rx_packets"`
	RxBytes   uint64 `json:"rx_bytes"`
	RxDropped uint64 `json:"rx_dropped"`
	GSOMax    uint32 `json:"gso_max_segs"`
}

// Host is the machine that ran the world.
type Host struct {
	BusyShare      float64           `json:"busy_share"`      // CPU not idle while flows ran, 0 to 1
	SoftnetDropped uint64            `json:"softnet_dropped"` // /proc/net/softnet_stat
	MetricsCached  int               `json:"metrics_cached"`  // entries of tcp_metrics for the receiver at the start
	Sysctls        map[string]string `json:"sysctls"`         // read back, of the sender
	DurationUs     uint64            `json:"duration_us"`     // of the traffic
	PairedLosses   bool              `json:"paired_losses"`   // netem took the seed itself: same losses for each arm
}
