package shaping

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// View is what a link sends at, for people and programs.
type View struct {
	Interface string   `json:"interface"`
	Root      string   `json:"root"`    // its root qdisc in the words of tc
	Limited   bool     `json:"limited"` // by a token bucket at its root
	Ours      bool     `json:"ours"`    // that congctl put there
	Egress    *Bucket  `json:"egress,omitempty"`
	Ingress   *Bucket  `json:"ingress,omitempty"`
	Warnings  []string `json:"warnings"`
}

// Bucket is a token bucket with its counters.
type Bucket struct {
	RateBitPerS   uint64  `json:"rate_bit_per_s"`
	RateBytesPerS uint64  `json:"rate_bytes_per_s"`
	BurstBytes    uint64  `json:"burst_bytes"`
	QueueBytes    uint64  `json:"queue_bytes"`
	WaitMs        float64 `json:"wait_ms"` // of a packet behind a full queue
	Below         string  `json:"below"`   // kind of qdisc below the bucket, "" for its own queue
	SentBytes     uint64  `json:"sent_bytes"`
	SentPackets   uint64  `json:"sent_packets"`
	Dropped       uint64  `json:"dropped"`
	Overlimits    uint64  `json:"overlimits"` // how often a packet had to wait
	BacklogBytes  uint64  `json:"backlog_bytes"`
}

// NewView tells of a link, and of the ifb that queues what it receives, nil for none.
func NewView(l Link, ifb *Link) View {
	v := View{Interface: l.Name, Root: l.Root.String(), Limited: l.Root.Tbf != nil, Ours: l.Root.Ours(), Warnings: []string{}}
	if l.Root.Tbf != nil {
		v.Egress = bucketOf(l.Root)
		v.warnOfBucket(l)
		v.warnOfGuest(l.Root)
	}
	if ifb != nil && ifb.Root.Tbf != nil {
		v.Ingress = bucketOf(ifb.Root)
		v.warnOfGuest(ifb.Root)
	}
	return v
}

func (v *View) warnOfGuest(q Qdisc) {
	if g := q.Guest(); g != nil {
		v.warn("%s hangs below the bucket, and not by congctl: set takes it away with --replace only, clear with --force", g)
	}
}

func bucketOf(q Qdisc) *Bucket {
	t := q.Tbf
	b := &Bucket{RateBitPerS: uint64(t.Rate), RateBytesPerS: t.Rate.BytesPerS(), BurstBytes: uint64(t.Burst), QueueBytes: uint64(t.Limit),
		WaitMs: milliseconds(Wait(t.Rate, t.Limit, t.Burst)), SentBytes: q.Sent, SentPackets: q.Packets, Dropped: q.Dropped,
		Overlimits: q.Overlimits, BacklogBytes: uint64(q.Backlog)}
	if len(q.Below) > 0 && q.Below[0].Kind != "bfifo" {
		b.Below = q.Below[0].Kind
	}
	return b
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// burstMost is the time at the rate above which a bucket hides BBR's pacing: a burst of
// 10 ms is as long as a whole round trip of a near client, and BBR takes the line rate
// that it sees in it for the path's.
const burstMost = 10 * time.Millisecond

func (v *View) warnOfBucket(l Link) {
	t := *l.Root.Tbf
	burst := Wait(t.Rate, t.Burst, 0)
	if t.Burst > framesAtLeast*l.Frame() && burst > burstMost {
		v.warn("a burst of %s lasts %s at the rate and leaves at line rate: it hides BBR's pacing, which then takes the line's rate for the path's; set the burst to auto", t.Burst, burst.Round(10*time.Microsecond))
	}
	if hidesPacing(Qdisc{Below: l.Root.Below}) {
		v.warn("fq below a bucket paces what the bucket then holds up, and its own limits replace the bucket's queue: TCP paces BBR by itself, take fq away")
	}
	if t.Burst < l.Frame() {
		v.warn("the burst of %s is smaller than a frame of %d bytes: every full packet is dropped", t.Burst, l.Frame())
	}
	if (l.TSO || l.GSO) && !l.Splits() {
		v.warn("TSO or GSO is on, and tbf of Linux %d.%d drops super-packets: this link is far slower than its rate", l.Kernel[0], l.Kernel[1])
	}
	if wait := Wait(t.Rate, t.Limit, t.Burst); wait > longWait {
		v.warn("a full queue takes %s: connections that do not fill it wait as long", wait.Round(time.Millisecond))
	}
}

// longWait is a queue that people notice in every click.
const longWait = time.Second

func (v *View) warn(format string, args ...any) {
	v.Warnings = append(v.Warnings, fmt.Sprintf(format, args...))
}

// WriteViews writes links in words.
func WriteViews(w io.Writer, views []View) error {
	for i, v := range views {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := v.write(w); err != nil {
			return err
		}
	}
	return nil
}

func (v View) write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	switch {
	case v.Ours:
		fmt.Fprintf(tw, "%s\tlimited by congctl\n", v.Interface)
	case v.Limited:
		fmt.Fprintf(tw, "%s\tlimited, not by congctl (%s)\n", v.Interface, v.Root)
	default:
		fmt.Fprintf(tw, "%s\tnot limited (%s)\n", v.Interface, v.Root)
	}
	if v.Egress != nil {
		v.Egress.write(tw, "")
	}
	if v.Ingress != nil {
		v.Ingress.write(tw, "incoming ")
	}
	for _, text := range v.Warnings {
		fmt.Fprintf(tw, "warning\t%s\n", text)
	}
	return tw.Flush()
}

func (b Bucket) write(w io.Writer, which string) {
	fmt.Fprintf(w, "%srate\t%s\n", which, Rate(b.RateBitPerS).Words())
	fmt.Fprintf(w, "%sburst\t%s\n", which, Size(b.BurstBytes).Words())
	queue := fmt.Sprintf("%s, a full one takes %.1f ms", Size(b.QueueBytes).Words(), b.WaitMs)
	if b.Below != "" {
		queue = b.Below + " keeps its own"
	}
	fmt.Fprintf(w, "%squeue\t%s\n", which, queue)
	fmt.Fprintf(w, "%ssent\t%d bytes, %d packets\n", which, b.SentBytes, b.SentPackets)
	fmt.Fprintf(w, "%sdropped\t%d packets\n", which, b.Dropped)
	fmt.Fprintf(w, "%swaiting\t%d bytes now; %d times a packet had to wait\n", which, b.BacklogBytes, b.Overlimits)
}

// Summary is a target in words, a line each.
func (t Target) Summary() string {
	var b strings.Builder
	wait := Wait(t.Tbf.Rate, t.Tbf.Limit, t.Tbf.Burst)
	fmt.Fprintf(&b, "rate   %s\nburst  %s\nqueue  %s, a full one takes %.1f ms\n", t.Tbf.Rate.Words(), t.Tbf.Burst.Words(), t.Tbf.Limit.Words(), milliseconds(wait))
	return b.String()
}
