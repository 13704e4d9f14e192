package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/tcp/record"
)

// noonNs is 2026-11-20T12:00:00Z; scripts count seconds from there.
const noonNs = 1_795_176_000 * int64(time.Second)

// content is a plan of a script: 7A5 is serial 7 with content A and 5 prefixes.
func content(t testing.TB, s string, nowNs int64) Plan {
	i := strings.IndexFunc(s, func(c rune) bool { return c >= 'A' && c <= 'Z' })
	if i < 0 {
		t.Fatalf("plan %q: want serial, letter, prefixes, as 7A5", s)
	}
	serial, err := strconv.ParseUint(s[:i], 10, 64)
	n, err2 := strconv.Atoi(s[i+1:])
	if err != nil || err2 != nil {
		t.Fatalf("plan %q: %v %v", s, err, err2)
	}
	return Plan{Serial: record.PlanID(serial), Hash: "hash-" + s[:i+1], Content: s[i : i+1], Prefixes: n,
		Expires: nowNs/int64(time.Second) + 3600}
}

type play struct {
	t     *testing.T
	r     *Rollout
	nowNs int64
	plans map[record.PlanID]Plan
}

// TestScripts plays roll-outs that a person can check by hand. Each line is an event, under it its orders.
//
//	pop max=N         a new PoP, at noon
//	play
//	offer 7A5 [held] [by=X] [expires=S]   serial, content, prefixes; S seconds from now
//	connect HOST [has=SERIAL] [hash=TEXT] [boot=B]     disconnect HOST
//	ack HOST [SERIAL] [hash=TEXT] [prefixes=N]         of what was offered, or else as told
//	refuse HOST SERIAL why...      stopped HOST on|off
//	kill on|off, freeze on|off, abort
//	wait S            ticks, one a second, of which only those with orders are printed; to=S: clock set
//	restart           through JSON, as a new process
//	hosts             what each has
//
// HOST may be several, as a,b,c: an event each; "sent" are those that were sent that plan and have not answered.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/rollout", func(t *testing.T, path string) {
		p := &play{t: t}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			p.t = t
			if d.Cmd == "pop" {
				rules := DefaultRules()
				for _, a := range d.CmdArgs {
					rules.MaxHosts, _ = strconv.Atoi(a.Vals[0])
				}
				p.r, p.nowNs, p.plans = New("ams", []byte("key"), rules, State{}), noonNs, map[record.PlanID]Plan{}
				return ""
			}
			var b strings.Builder
			for _, line := range strings.Split(d.Input, "\n") {
				fmt.Fprintf(&b, "> %s\n%s", line, p.line(strings.Fields(line)))
			}
			return b.String()
		})
	})
}

// words are the arguments of a line: plain ones, and those of the form key=value.
func words(fields []string) (plain []string, keyed map[string]string) {
	keyed = map[string]string{}
	for _, f := range fields {
		if k, v, ok := strings.Cut(f, "="); ok {
			keyed[k] = v
		} else {
			plain = append(plain, f)
		}
	}
	return append(plain, "", ""), keyed
}

func (p *play) line(fields []string) string {
	args, keyed := words(fields[1:])
	switch fields[0] {
	case "wait":
		return p.wait(args[0], keyed["to"])
	case "hosts":
		return p.hosts()
	case "restart":
		p.r = New("ams", []byte("key"), p.r.rules, revived(p.t, p.r.State))
	}
	var orders []Order
	for _, args[0] = range p.whom(args[0], args[1]) {
		orders = append(orders, p.r.Step(p.nowNs, p.event(fields[0], args, keyed, strings.Join(fields[1:], " ")))...)
	}
	return text(orders)
}

// whom are the hosts of a word: "sent" are those that were sent a plan and have not answered.
func (p *play) whom(word, serial string) []string {
	if word != "sent" {
		return strings.Split(word, ",")
	}
	plan := p.plans[record.PlanID(p.number(serial))]
	return p.r.names(func(h *Host) bool { return h.Connected && h.Sent == plan.Serial && !h.answered(plan) })
}

func (p *play) event(cmd string, args []string, keyed map[string]string, rest string) Event {
	switch cmd {
	case "offer":
		plan := content(p.t, args[0], p.nowNs)
		if was := p.plans[plan.Serial]; was.Content == plan.Content {
			plan = was
		}
		if s := keyed["expires"]; s != "" {
			plan.Expires = p.nowNs/int64(time.Second) + p.number(s)
		}
		p.plans[plan.Serial] = plan
		return Offer{Plan: plan, By: keyed["by"], Held: slices.Contains(args, "held")}
	case "connect":
		serial := record.PlanID(p.number("0" + keyed["has"]))
		return Connect{Host: args[0], Boot: keyed["boot"], Version: "1.0", Serial: serial, Hash: or(keyed["hash"], p.plans[serial].Hash)}
	case "disconnect":
		return Disconnect{args[0]}
	case "ack":
		plan := p.plans[record.PlanID(p.number(args[1]))]
		a := Ack{Host: args[0], Serial: record.PlanID(p.number(args[1])), Hash: or(keyed["hash"], plan.Hash), Prefixes: plan.Prefixes}
		if n := keyed["prefixes"]; n != "" {
			a.Prefixes = int(p.number(n))
		}
		return a
	case "refuse":
		return Refusal{args[0], record.PlanID(p.number(args[1])), strings.SplitN(rest, " ", 3)[2]}
	case "stopped":
		return Stopped{args[0], args[1] == "on"}
	case "kill":
		return Kill{args[0] == "on"}
	case "freeze":
		return Freeze{args[0] == "on", "ann"}
	case "abort":
		return Abort{"ann"}
	case "restart":
		return Restart{}
	}
	p.t.Fatalf("unknown event %s", cmd)
	return nil
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func (p *play) number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func (p *play) wait(seconds, to string) string {
	if to != "" {
		p.nowNs = noonNs + p.number(to)*int64(time.Second)
		return text(p.r.Step(p.nowNs, Tick{}))
	}
	var b strings.Builder
	last, again := "", ""
	for range p.number(seconds) {
		p.nowNs += int64(time.Second)
		at, out := time.Unix(0, p.nowNs).UTC().Format("15:04:05"), text(p.r.Step(p.nowNs, Tick{}))
		switch {
		case out == "":
		case out == last:
			again = "  and so on, until " + at + "\n"
		default:
			b.WriteString(again + at + "\n" + out)
			last, again = out, ""
		}
	}
	return b.String() + again
}

func (p *play) hosts() string {
	var b strings.Builder
	s := &p.r.State
	fmt.Fprintf(&b, "  stage %s base %d next %d\n", or(string(s.Stage), "settled"), s.Base.Serial, s.Next.Serial)
	same := map[string]string{}
	for _, name := range p.r.names(func(*Host) bool { return true }) {
		h := s.Hosts[name]
		line := fmt.Sprintf("has %d", h.Serial)
		for _, f := range []struct {
			is   bool
			word string
		}{{h.Acked, "acked"}, {!h.Connected, "gone"}, {h.Astray, "astray"}, {h.Stopped, "stopped"}, {h.Reached, "reached"}} {
			if f.is {
				line += " " + f.word
			}
		}
		same[line] += " " + name
	}
	for _, line := range slices.Sorted(maps.Keys(same)) {
		fmt.Fprintf(&b, "  %s:%s\n", line, same[line])
	}
	return b.String()
}

// text is orders as a person reads them, hosts with the same order on one line.
func text(orders []Order) string {
	var b strings.Builder
	last := ""
	for _, o := range orders {
		key, host := string(o.Do), o.Host
		switch o.Do {
		case OrderSend:
			key = fmt.Sprintf("send %d to", o.Serial)
		case OrderStop:
			key = map[bool]string{true: "stop", false: "unstop"}[o.On]
		case OrderWrite:
			key = fmt.Sprintf("write the content of %d anew", o.Serial)
		case OrderTell:
			key, host = "tell "+o.Kind+":", o.Text
		case OrderRefuse, OrderDrop:
			host = strings.TrimSpace(o.Host + " " + o.Text)
		}
		if key == last && (o.Do == OrderSend || o.Do == OrderStop) {
			fmt.Fprintf(&b, " %s", host)
			continue
		}
		if last != "" {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "  %s", strings.TrimSpace(key+" "+host))
		last = key
	}
	if last != "" {
		b.WriteByte('\n')
	}
	return b.String()
}
