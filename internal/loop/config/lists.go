package config

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/congctl/congctl/internal/linux/plainfile"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/strict"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/ranges"
	"github.com/congctl/congctl/internal/tcp/record"
)

// The operator's lists: treatment.always and treatment.never, each in the configuration
// and in a file of its own, one network and its reason a line. always is expanded to
// client networks, since the plan holds no others; never is by address in the kernel.

// entry is one network of a list, with where it stands.
type entry struct {
	policy.Listed
	field string
	line  int // of the list's file; 0: in the configuration
}

func (e entry) fault(problem, fix string) strict.Fault {
	return strict.Fault{Field: e.field, Line: e.line, Value: e.String(), Problem: problem, Fix: fix}
}

// WithoutLists is t without what can change while the loop runs.
func (t Treatment) WithoutLists() Treatment {
	t.Always, t.AlwaysFile, t.Control, t.Never, t.NeverFile = nil, "", "", nil, ""
	t.Version = 0 // of a module that may have been loaded since
	return t
}

// Lists returns the client networks to treat always and the networks never to treat,
// those of both files included.
func (c Config) Lists() (always, never []policy.Listed, err error) {
	yes, no := c.entries()
	more, err := readList("treatment.always_file", c.Treatment.AlwaysFile)
	if err != nil {
		return nil, nil, err
	}
	less, err := readList("treatment.never_file", c.Treatment.NeverFile)
	if err != nil {
		return nil, nil, err
	}
	yes, no = append(yes, more...), append(no, less...)
	var fs strict.Faults
	c.checkLists(&fs, yes, no)
	if err := fs.Err(); err != nil {
		return nil, nil, err
	}
	for _, e := range no {
		never = append(never, e.Listed)
	}
	return expanded(yes), never, nil
}

// ListChanges returns how many networks came and went, those of the lists' files included,
// which [Changes] does not read.
func ListChanges(was, is policy.Rules) (out []string) {
	out = listChange(out, "treatment.always", was.Always, is.Always)
	return listChange(out, "treatment.never", was.Guards.Never, is.Guards.Never)
}

func listChange(out []string, name string, was, is []policy.Listed) []string {
	before, after := reasons(was), reasons(is)
	more, fewer, other := 0, 0, 0
	for n, reason := range after {
		if was, had := before[n]; !had {
			more++
		} else if was != reason {
			other++
		}
	}
	for n := range before {
		if _, has := after[n]; !has {
			fewer++
		}
	}
	if more+fewer+other == 0 {
		return out
	}
	return append(out, fmt.Sprintf("%s with its file: %d more, %d fewer, %d with another reason", name, more, fewer, other))
}

func reasons(list []policy.Listed) map[netip.Prefix]string {
	m := make(map[netip.Prefix]string, len(list))
	for _, l := range list {
		m[l.Net] = l.Reason
	}
	return m
}

// entries are those of the configuration itself.
func (c Config) entries() (always, never []entry) {
	for _, l := range c.Treatment.Always {
		always = append(always, entry{l, "treatment.always", 0})
	}
	for _, l := range c.Treatment.Never {
		never = append(never, entry{l, "treatment.never", 0})
	}
	return always, never
}

// maxList of a list's file: with its reasons, ten times what any plan takes of it.
const maxList = 64 << 20

func readList(field, path string) ([]entry, error) {
	if path == "" {
		return nil, nil
	}
	b, err := plainfile.Read(path, maxList)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", field, err)
	}
	list, err := parseList(field, b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return list, nil
}

// parseList reads a network and its reason a line; "#" starts a comment. The error is a [strict.Faults].
func parseList(field string, b []byte) (list []entry, err error) {
	var fs strict.Faults
	for i, line := range strings.Split(string(b), "\n") {
		text, _, _ := strings.Cut(line, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		e := entry{field: field, line: i + 1}
		if e.UnmarshalText([]byte(text)) != nil {
			fs = append(fs, strict.Fault{Field: field, Line: i + 1, Value: text, Problem: notListed, Fix: listedFix})
		}
		list = append(list, e)
	}
	return list, fs.Err()
}

const (
	notListed = "does not begin with a network"
	listedFix = "write it as 203.0.113.0/24 and then the reason"
)

// width is the number of bits of a client network of n's family.
func width(n netip.Prefix) int {
	if n.Addr().Is4() {
		return 24
	}
	return 56
}

// tooMany is a number of networks that no plan holds.
const tooMany = 1 << 20

// clients is the number of client networks in n, at most tooMany.
func clients(n netip.Prefix) int { return min(1<<min(max(width(n)-n.Bits(), 0), 20), tooMany) }

// expanded are the client networks of entries that have no fault.
func expanded(list []entry) (out []policy.Listed) {
	for _, e := range list {
		a := e.Net.Addr()
		for range clients(e.Net) {
			p, ok := record.PrefixOf(a)
			if !ok || len(out) == maxPlan {
				break
			}
			out = append(out, policy.Listed{Net: p.Netip(), Reason: e.Reason})
			a = next(p.Netip())
		}
	}
	return out
}

// next is the first address behind a client network.
func next(n netip.Prefix) netip.Addr {
	b := n.Addr().AsSlice()
	for i := n.Bits()/8 - 1; i >= 0; i-- {
		if b[i]++; b[i] != 0 {
			break
		}
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// maxNever: the kernel holds twice as many, and what is no client is among them.
const maxNever = abi.MaxDenied / 2

func (c Config) checkLists(fs *strict.Faults, always, never []entry) {
	distinct := map[netip.Prefix]bool{}
	for _, e := range never {
		if f, bad := e.check(); bad {
			*fs = append(*fs, f)
		}
		distinct[e.Net] = true
	}
	if n := len(distinct); n > maxNever {
		*fs = append(*fs, strict.Fault{Field: never[len(never)-1].field, Problem: fmt.Sprintf("%d networks in treatment.never and its file", n),
			Fix: fmt.Sprintf("list at most %d, the kernel holds no more: fewer, or wider ones", maxNever)})
	}
	allow := c.Plan.AllowPrefixes
	for _, e := range always {
		if e.Net.IsValid() {
			allow = append(allow[:len(allow):len(allow)], e.Net)
		}
	}
	if n := len(distinct) + len(c.Clients.Exclude) + len(ranges.Specials(allow)); n > abi.MaxDenied {
		fs.Add("clients.exclude", fmt.Sprint(len(c.Clients.Exclude)), fmt.Sprintf("with treatment.never, and special ranges around what plan.allow_prefixes and treatment.always name, %d networks", n),
			fmt.Sprintf("list fewer, or wider ones; the kernel holds %d", abi.MaxDenied))
	}
	total := 0
	var sound []entry
	for _, e := range always {
		f, bad := c.checkAlways(e, sound, never)
		if bad {
			*fs = append(*fs, f)
			continue
		}
		sound, total = append(sound, e), total+clients(e.Net)
		if total > c.Plan.Max {
			*fs = append(*fs, e.fault(fmt.Sprintf("with it the list has more client networks than plan.max, %d", c.Plan.Max), "list fewer, or raise plan.max"))
			return
		}
	}
}

// check looks at what concerns any entry alone.
func (e entry) check() (strict.Fault, bool) {
	m := e.Net.Masked()
	switch {
	case !e.Net.IsValid(): // already a fault of reading
		return strict.Fault{}, false
	case e.Net.Addr().Is4In6():
		return e.fault("IPv4-mapped", "write it as IPv4"), true
	case e.Net != m:
		return e.fault("host bits set", "write "+policy.Listed{Net: m, Reason: e.Reason}.String()), true
	case !utf8.ValidString(e.Reason): // stored as JSON it would come back as another
		return e.fault("a reason that is not UTF-8", "write "+strings.ToValidUTF8(e.String(), "?")+", or save the file as UTF-8"), true
	case len(e.Reason) > plan.MaxReasonBytes:
		return e.fault(fmt.Sprintf("a reason of %d bytes", len(e.Reason)), fmt.Sprintf("write at most %d", plan.MaxReasonBytes)), true
	}
	return strict.Fault{}, false
}

// checkAlways also looks at what an entry of always must be beside the others.
func (c Config) checkAlways(e entry, before, never []entry) (strict.Fault, bool) {
	if f, bad := e.check(); bad || !e.Net.IsValid() {
		return f, bad
	}
	if e.Reason == "" {
		return e.fault("has no reason", "write it after the network, as "+e.Net.String()+" satellite link"), true
	}
	if client, narrow := ranges.Widened(e.Net); narrow {
		return e.fault("only a part of a client network", "write "+policy.Listed{Net: client, Reason: e.Reason}.String()), true
	}
	for _, o := range before {
		if o.Net.Overlaps(e.Net) {
			return e.fault("overlaps "+o.Net.String()+" of the same list", "keep one"), true
		}
	}
	for _, o := range never {
		// A part of a client network may be on both: the kernel leaves its addresses alone.
		if _, narrow := ranges.Widened(o.Net); !narrow && o.Net.Overlaps(e.Net) {
			return e.fault("overlaps "+o.Net.String()+" of treatment.never", "keep one"), true
		}
	}
	return c.checkClient(e)
}

// checkClient: what is no client is not measured, and what is named for the hold-out or A/A is not treated.
func (c Config) checkClient(e entry) (strict.Fault, bool) {
	for _, l := range []struct {
		name string
		nets []netip.Prefix
	}{{"clients.exclude", c.Clients.Exclude}, {"policy.holdout_prefixes", c.Policy.HoldoutPrefixes}, {"policy.aa_prefixes", c.Policy.AAPrefixes}} {
		for _, n := range l.nets {
			if n.Overlaps(e.Net) {
				return e.fault("overlaps "+n.String()+" of "+l.name, "keep one"), true
			}
		}
	}
	if name, special := ranges.Special(e.Net); special {
		if _, ok := ranges.Covering(c.Clients.Allow, e.Net); !ok {
			return e.fault(name+", so not a client", "put "+e.Net.String()+" into clients.allow too"), true
		}
	}
	return strict.Fault{}, false
}
