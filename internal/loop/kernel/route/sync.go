package route

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/tcp/record"
)

var (
	errClosed = errors.New("router is closed")
	families  = [...]uint8{unix.AF_INET, unix.AF_INET6}
)

// own lists our routes of both families.
func own(t table) (out []entry, err error) {
	for _, f := range families {
		found, err := t.routes(f, Proto, head.ours)
		if err != nil {
			return nil, fmt.Errorf("list own routes: %w", err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// scene is the result of one reading of the table.
type scene struct {
	chosen     []target
	have, want []entry
	inside     map[netip.Prefix][]netip.Prefix
	skips      []Skip
}

func (sc *scene) skip(t target, format string, args ...any) {
	sc.skips = append(sc.skips, Skip{Prefix: t.prefix, Reason: fmt.Sprintf(format, args...)})
}

// read reads the table and works out what should be there now.
func (r *Router) read() (sc scene, err error) {
	if r.tab == nil {
		return sc, errClosed
	}
	sc.inside = map[netip.Prefix][]netip.Prefix{}
	if r.stop == 0 {
		sc.chosen, sc.skips, err = targets(r.prog, r.bootNs(), r.denied)
	}
	if err != nil {
		return sc, err
	}
	for _, f := range families {
		if err := r.look(f, &sc); err != nil {
			return sc, err
		}
	}
	return sc, nil
}

// sync brings the table in line with the program, the clock, the denied ranges and
// the stop bits: all of it or nothing.
func (r *Router) sync() error {
	sc, err := r.read()
	if err != nil {
		return err
	}
	drift, lost := r.compare(sc)
	todo := steps(sc.have, sc.want)
	if err := r.carryOut(todo, sc.want); err != nil {
		return err
	}
	r.report.Drift += drift
	r.report.Lost += lost
	r.account(todo, sc, sc.want)
	return nil
}

// retreat removes what should not be there and adds nothing: the fallback when sync
// failed, and all that a stop needs. It continues past refusals.
func (r *Router) retreat() error {
	sc, err := r.read()
	if err != nil {
		return err
	}
	var todo []step
	var errs []error
	kept := sc.have
	for _, s := range steps(sc.have, sc.want) {
		if s.add {
			continue
		}
		if err := r.tab.do(s); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s, err))
			continue
		}
		todo = append(todo, s)
		kept = slices.DeleteFunc(kept, s.entry.equal)
	}
	r.account(todo, sc, kept)
	return errors.Join(errs...)
}

// look reads the table of a family and adds to sc our routes and what should be there.
// Without targets it only requests our own routes.
func (r *Router) look(family uint8, sc *scene) error {
	var mine []target
	var nets []netip.Prefix
	for _, t := range sc.chosen {
		if n := t.prefix.Netip(); familyOf(n.Addr()) == family {
			mine, nets = append(mine, t), append(nets, n)
		}
	}
	o, proto := newOriginals(nets), uint8(0)
	r.targeted[family] = o
	if len(nets) == 0 {
		proto = Proto
	}
	found, err := r.tab.routes(family, proto, func(h head) bool { return h.ours() || o.touches(h.dst) })
	if err != nil {
		return fmt.Errorf("read routes: %w", err)
	}
	for _, e := range found {
		if (head{proto: e.proto, metric: e.metric}).ours() {
			sc.have = append(sc.have, e)
		} else {
			o.add(e)
		}
	}
	for _, t := range mine {
		r.plot(o, t, sc)
	}
	return nil
}

// plot adds the copies for one target.
func (r *Router) plot(o *originals, t target, sc *scene) {
	p := t.prefix.Netip()
	real, err := o.of(p)
	if err != nil {
		sc.skip(t, "%v", err)
		return
	}
	pieces := o.pieces(p, real.dst)
	for _, dst := range pieces {
		sc.want = append(sc.want, copyOf(real, dst, t.cong))
	}
	if inside := o.inside[p]; len(inside) > 0 {
		sc.inside[p] = inside
		sc.skip(t, "%d more specific routes keep their addresses, %s among them", len(inside), inside[0])
		sc.skips[len(sc.skips)-1].Partly = len(pieces) > 0
	}
}

// compare counts copies whose original has moved, and copies that something else changed.
func (r *Router) compare(sc scene) (drift, lost uint64) {
	have, want, still := byDst(sc.have), byDst(sc.want), make(map[record.Prefix]bool, len(sc.chosen))
	for _, t := range sc.chosen {
		still[t.prefix] = true
	}
	for dst, was := range r.put {
		if h, ok := have[dst]; !ok || !h.equal(was) {
			lost++
		}
		p, _ := record.PrefixOf(dst.Addr())
		if w, ok := want[dst]; still[p] && (!ok || !w.sameWay(was)) {
			drift++
		}
	}
	return drift, lost
}

func byDst(all []entry) map[netip.Prefix]entry {
	m := make(map[netip.Prefix]entry, len(all))
	for _, e := range all {
		m[e.dst] = e
	}
	return m
}

// carryOut changes the table and reads our part of it back.
func (r *Router) carryOut(todo []step, want []entry) error {
	if len(todo) == 0 {
		return nil
	}
	if err := apply(r.tab, todo); err != nil {
		return err
	}
	have, err := own(r.tab)
	if err == nil {
		if wrong := steps(have, want); len(wrong) > 0 {
			err = fmt.Errorf("read back %d routes that differ; first fix: %s", len(wrong), wrong[0])
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("verify routes: %w", err), undo(r.tab, todo))
	}
	return nil
}

// account records what was done and what holds now, as the kernel confirms it.
func (r *Router) account(done []step, sc scene, now []entry) {
	r.put = byDst(now)
	added := 0
	for _, s := range done {
		if s.add {
			added++
		}
	}
	inForce := r.confirm(&sc)
	rep := &r.report
	rep.Plan, rep.InForce, rep.Routes = uint64(r.prog.Plan), inForce, len(now)
	rep.Added, rep.Removed, rep.Skipped = added, len(done)-added, sc.skips
}
