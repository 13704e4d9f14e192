package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/tcp/record"
)

// An export is for a program that sets the congestion control itself: the networks that run the treatment at one time, in a
// form that the program reads. It leaves out the networks that run the default then, as the kernel does, so that such a
// program is part of the experiment and does not spoil it. That makes it true for a block only. The same plan gives the same
// bytes throughout a block: whoever exports by a timer can compare and leave the server alone.

// Forms of an export's text.
const (
	FormNginxGeo   = "nginx-geo"   // what stands between the braces of a geo block, to be included there
	FormHAProxyMap = "haproxy-map" // for the converter map_ip
	FormCIDR       = "cidr"        // networks alone
	FormIPRoute    = "ip-route"    // commands of iproute2, for sh as root
)

// Export is what a plan treats at one time.
type Export struct {
	PoP     string        `json:"pop"`
	Serial  record.PlanID `json:"serial"`
	Created int64         `json:"created_unix_s"`
	Expires int64         `json:"expires_unix_s"`
	Hash    string        `json:"hash"`             // of the plan, hex SHA-256
	KeyID   string        `json:"key_id,omitempty"` // of its signature; "": not signed
	Block   int64         `json:"block_unix_s"`     // start of the block whose arms these are
	Until   int64         `json:"until_unix_s"`     // from then on it is wrong: the block's end, or Expires if that is earlier
	Every   bool          `json:"every_block"`      // networks in control are among the networks, and Until is Expires
	Stopped bool          `json:"stopped"`          // by the kill switch, which leaves no networks; the caller sets it by Stop
	Control int           `json:"in_control"`       // networks left out: in this block they run the default
	Never   int           `json:"never_treated"`    // networks left out: hold-out and A/A run the default in every block
	Bytes   uint64        `json:"min_bytes"`        // of a response, before congctl treats
	Treated []Exported    `json:"networks"`

	congs []string // of all networks that the plan treats in any block, sorted
}

// Exported is one network to treat.
type Exported struct {
	Prefix       record.Prefix `json:"prefix"`
	Cong         string        `json:"cong"`
	CapBytesPerS uint64        `json:"cap_bytes_per_s"` // 0: none
}

// Export returns what the plan treats at a time, Unix seconds; with everyBlock also the networks that are in control then. It
// refuses a plan of all networks, one that has expired by then, and a time more than a round before the plan was created.
func (p *Plan) Export(sig *Signature, unix int64, everyBlock bool) (Export, error) {
	switch {
	case p.Expired(unix):
		return Export{}, fmt.Errorf("plan %d expired at %s: it treats nothing at %s", p.Serial, appendTime(nil, p.Expires), appendTime(nil, unix))
	case unix < p.Created-maxSkewS:
		return Export{}, fmt.Errorf("plan %d was created at %s: it says nothing of %s", p.Serial, appendTime(nil, p.Created), appendTime(nil, unix))
	}
	if _, all := p.Find(record.All); all {
		return Export{}, fmt.Errorf("plan %d treats all networks but those that its hosts never treat, which it does not name: make %s the server's default instead", p.Serial, p.Treatment)
	}
	block, start, end := Block(unix, p.BlockSeconds)
	x := Export{PoP: p.PoP, Serial: p.Serial, Created: p.Created, Expires: p.Expires, Hash: p.Hash(), Block: start, Until: min(end, p.Expires),
		Every: everyBlock, Bytes: p.MinBytes}
	if everyBlock {
		x.Until = p.Expires
	}
	if sig != nil {
		x.KeyID = sig.KeyID
	}
	x.fill(p, block)
	return x, nil
}

func (x *Export) fill(p *Plan, block int64) {
	d := p.draws()
	for _, e := range p.sorted() {
		arm := p.arm(d, e, block)
		if arm != record.ArmTreatment && arm != record.ArmControl {
			x.Never++
			continue
		}
		x.congs = append(x.congs, e.Cong)
		if arm == record.ArmControl && !x.Every {
			x.Control++
			continue
		}
		x.Treated = append(x.Treated, Exported{e.Prefix, e.Cong, e.CapBytesPerS})
	}
	slices.Sort(x.congs)
	x.congs = slices.Compact(x.congs)
}

// maxSkewS is how far, in seconds, the clocks of who wrote the plan and who exports it may differ: a round, as for an agent.
const maxSkewS = 300

// Stop leaves no networks: treatment is stopped, and a program that asks again learns of it.
func (x *Export) Stop() { x.Stopped, x.Treated, x.Control, x.Never = true, nil, 0, 0 }

// Text writes the export in a form, networks by address. It refuses a plan with more than one congestion control as
// FormCIDR, which cannot tell them apart.
func (x *Export) Text(form string) (string, error) {
	if form == FormCIDR && len(x.congs) > 1 {
		return "", fmt.Errorf("plan %d has %s: %s cannot tell which network gets which", x.Serial, strings.Join(x.congs, " and "), form)
	}
	line, ok := map[string]func(Exported) string{
		FormNginxGeo:   func(e Exported) string { return e.Prefix.String() + " " + e.Cong + ";" },
		FormHAProxyMap: func(e Exported) string { return e.Prefix.String() + " " + e.Cong },
		FormCIDR:       func(e Exported) string { return e.Prefix.String() },
		FormIPRoute:    addRoute,
	}[form]
	if !ok {
		return "", errors.New("unknown form " + form)
	}
	var b strings.Builder
	for _, l := range x.comment(form) {
		b.WriteString("# " + l + "\n")
	}
	if form == FormIPRoute {
		fmt.Fprintf(&b, flushRoutes, routeProto)
	}
	for _, e := range x.Treated {
		b.WriteString(line(e) + "\n")
	}
	return b.String(), nil
}

// Routes do not say whose they are. A protocol of their own (rtm_protocol) does: 156 is in no list of iproute2, FRR (186-198), BIRD (12)
// or Open/R (99). By it each run removes the routes of the one before. The metric is above all that are in use, so that any other route
// to the same network wins; FRR reads its upper byte as an administrative distance.
// Root's shell reads the commands: a plan's words have letters, digits, '-', '_' and '.' alone ([checkWord]), wherever it comes from.
const (
	routeProto  = 156
	routeMetric = 0xff<<24 | routeProto

	flushRoutes = `# for sh as root; the way to clients: VIA4="via 192.0.2.254 dev eth0" VIA6="via 2001:db8:ffff::254 dev eth0"
ip -4 route flush proto %[1]d
ip -6 route flush proto %[1]d
`
)

func addRoute(e Exported) string {
	family := 6
	if e.Prefix.Netip().Addr().Is4() {
		family = 4
	}
	return fmt.Sprintf("ip -%[1]d route add %[2]s ${VIA%[1]d:?} proto %[3]d metric %[4]d congctl %[5]s", family, e.Prefix, routeProto, uint32(routeMetric), e.Cong)
}

// comment has the words of the plan's header where there is one.
func (x *Export) comment(form string) []string {
	key := "not signed"
	if x.KeyID != "" {
		key = "signed ed25519 " + x.KeyID
	}
	return []string{
		"congctl plan export --format " + form,
		"pop " + x.PoP,
		fmt.Sprintf("serial %d", x.Serial),
		fmt.Sprintf("created %s", appendTime(nil, x.Created)),
		fmt.Sprintf("expires %s", appendTime(nil, x.Expires)),
		hashPrefix + x.Hash,
		key,
		fmt.Sprintf("true until %s, %s", appendTime(nil, x.Until), x.why()),
		fmt.Sprintf("networks %d%s", len(x.Treated), x.leftOut()),
	}
}

func (x *Export) why() string {
	if x.Until == x.Expires {
		return "when the plan expires"
	}
	return "when the block ends"
}

func (x *Export) leftOut() string {
	switch {
	case x.Stopped:
		return ": treatment is stopped"
	case x.Every:
		return fmt.Sprintf(", in every block, so without control; left out: %d hold-out or A/A", x.Never)
	}
	return fmt.Sprintf("; left out: %d in control in this block, %d hold-out or A/A", x.Control, x.Never)
}
