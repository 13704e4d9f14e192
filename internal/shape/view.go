package shape

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/congctl/congctl/internal/change"
)

// View is the rate at which a link sends, for people and programs.
type View struct {
	Interface string   `json:"interface"`
	Root      string   `json:"root"`    // its root qdisc in the words of tc
	Limited   bool     `json:"limited"` // by a token bucket at its root
	Ours      bool     `json:"ours"`    // congctl put it there
	Egress    *Bucket  `json:"egress,omitempty"`
	Ingress   *Bucket  `json:"ingress,omitempty"`
	Warnings  []string `json:"warnings"`
}

// Numbers are those of a token bucket.
type Numbers struct {
	RateBitPerS   uint64  `json:"rate_bit_per_s"`
	RateBytesPerS uint64  `json:"rate_bytes_per_s"`
	BurstBytes    uint64  `json:"burst_bytes"`
	QueueBytes    uint64  `json:"queue_bytes"`
	WaitMs        float64 `json:"wait_ms"` // of a packet behind a full queue
}

// Bucket is a token bucket with its counters.
type Bucket struct {
	Numbers
	PeakBitPerS  uint64 `json:"peak_bit_per_s,omitempty"` // at which a burst leaves, 0 for the line's rate
	Below        string `json:"below"`                    // kind of qdisc below the bucket, "" for its own queue
	SentBytes    uint64 `json:"sent_bytes"`
	SentPackets  uint64 `json:"sent_packets"`
	Dropped      uint64 `json:"dropped"`
	Overlimits   uint64 `json:"overlimits"` // how often a packet had to wait
	BacklogBytes uint64 `json:"backlog_bytes"`
}

// Numbers returns the bucket for people and programs.
func (t Tbf) Numbers() Numbers {
	return Numbers{uint64(t.Rate), t.Rate.BytesPerS(), uint64(t.Burst), uint64(t.Limit), float64(t.Wait().Microseconds()) / 1000}
}

// String returns the numbers in words, a line each.
func (n Numbers) String() string {
	return fmt.Sprintf("rate   %s\nburst  %s\nqueue  %s, %.1f ms when full\n",
		Rate(n.RateBitPerS).Words(), Size(n.BurstBytes).Words(), Size(n.QueueBytes).Words(), n.WaitMs)
}

// NewView describes a link, and the ifb that queues what it receives, nil for none.
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
		v.warn("%s below the bucket was not set by congctl: set removes it only with --replace, clear only with --force", g)
	}
}

func bucketOf(q Qdisc) *Bucket {
	b := &Bucket{Numbers: q.Tbf.Numbers(), PeakBitPerS: uint64(q.Peak), SentBytes: q.Sent, SentPackets: q.Packets, Dropped: q.Dropped,
		Overlimits: q.Overlimits, BacklogBytes: uint64(q.Backlog)}
	if len(q.Below) > 0 && q.Below[0].Kind != "bfifo" {
		b.Below = q.Below[0].Kind
	}
	return b
}

// burstMost is the time at the rate above which a bucket hides BBR's pacing: a burst of
// 10 ms is as long as a whole round trip of a near client, and BBR takes the line rate
// within it for the path's.
const burstMost = 10 * time.Millisecond

func (v *View) warnOfBucket(l Link) {
	t := *l.Root.Tbf
	burst := Wait(t.Rate, t.Burst, 0)
	if t.Burst > framesAtLeast*l.Frame() && burst > burstMost {
		leaves, taken := "line rate", "the line's rate"
		if peak := l.Root.Peak; peak > 0 {
			leaves, taken = "the peak rate of "+peak.String(), "that"
		}
		v.warn("a burst of %s takes %s at the rate but leaves at %s, so BBR can take %s for the path's; use --burst auto", t.Burst, burst.Round(10*time.Microsecond), leaves, taken)
	}
	if hidesPacing(Qdisc{Below: l.Root.Below}) {
		v.warn("fq paces packets that the bucket then delays, and its limits replace the bucket's queue; TCP paces BBR by itself, so remove fq")
	}
	if t.Burst < l.Frame() {
		v.warn("the burst of %s is smaller than a frame of %d bytes, so every full packet is dropped", t.Burst, l.Frame())
	}
	if l.Root.Peak > 0 && l.Root.PeakBurst < l.Frame() {
		v.warn("at the peak rate at most %s leave at once (mtu), less than a frame of %d bytes, so every full packet is dropped", l.Root.PeakBurst, l.Frame())
	}
	if (l.TSO || l.GSO) && !l.Splits() {
		v.warn("TSO or GSO is on, but tbf of Linux %d.%d drops super-packets: the link is far slower than its rate", l.Kernel[0], l.Kernel[1])
	}
	if wait := t.Wait(); wait > longWait {
		v.warn("a full queue delays all connections by %s, also those that do not fill it", wait.Round(time.Millisecond))
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
	if b.PeakBitPerS > 0 {
		fmt.Fprintf(w, "%speak\t%s, at which a burst leaves\n", which, Rate(b.PeakBitPerS).Words())
	}
	queue := fmt.Sprintf("%s, %.1f ms when full", Size(b.QueueBytes).Words(), b.WaitMs)
	if b.Below != "" {
		queue = b.Below + " has its own"
	}
	fmt.Fprintf(w, "%squeue\t%s\n", which, queue)
	fmt.Fprintf(w, "%ssent\t%d bytes, %d packets\n", which, b.SentBytes, b.SentPackets)
	fmt.Fprintf(w, "%sdropped\t%d packets\n", which, b.Dropped)
	fmt.Fprintf(w, "%swaiting\t%d bytes now, %d waits so far\n", which, b.BacklogBytes, b.Overlimits)
}

// Words prints the value of a step for people. It returns what it cannot read as it is.
func Words(k change.Kind, v change.Value) string {
	switch {
	case !k.Volatile() || !v.Present:
		return change.Brief(v)
	case k != change.Egress && k != change.Ingress:
		return v.Text
	case IsLimit(v.Text):
		l, err := ParseLimit(v.Text)
		if err != nil {
			return v.Text
		}
		return l.words()
	}
	all, err := change.ParseTree(v.Text)
	if err != nil {
		return v.Text
	}
	return inWords(all)
}

func (l Limit) words() string {
	text := fmt.Sprintf("tbf rate %s burst %dB limit %dB", l.Rate, l.Burst, l.Tbf.Limit)
	if l.Inner != "" {
		text += ", " + l.Inner + " below"
	}
	for _, g := range l.Guests {
		text += fmt.Sprintf(", %s %x: below (not by congctl)", g.Kind, g.Handle>>16)
	}
	return text
}

func inWords(all []change.Node) string {
	var texts []string
	for _, s := range all {
		text := s.Kind
		if s.Handle != 0 && s.Parent == change.RootParent {
			text += fmt.Sprintf(" %x:", s.Handle>>16)
		}
		texts = append(texts, text)
	}
	return cmp.Or(count(texts, 2), "none")
}

// OtherNow returns words for the kernel's own qdiscs that came back different, "" for the same ones.
func OtherNow(before, now string) string {
	was, err := change.ParseTree(before)
	is, err2 := change.ParseTree(now)
	if err != nil || err2 != nil || len(change.Named(was)) > 0 || before == now {
		return ""
	}
	if w, i := inWords(was), inWords(is); w != i {
		return fmt.Sprintf("now the kernel's default, %s (it was %s)", i, w)
	}
	return "now the kernel's default, with other parameters, since a setting or the MTU changed"
}

// Name returns a kind of setting in words for people.
func Name(k change.Kind) string {
	switch k {
	case change.Egress:
		return "root qdisc of"
	case change.Ingress:
		return "inbound limit of"
	case change.TSO:
		return "TSO of"
	case change.GSO:
		return "GSO of"
	}
	return string(k)
}
