package controller

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/loop/policy"
)

// What was learnt of one treatment says nothing of another, and a kernel may have another BBR under the same name. So the store
// has the treatment that its evidence is of, and the time from which it counts.
const (
	settingTreatment = "treatment"
	settingEvidence  = "evidence_from" // Unix seconds

	kindTreatment = "treatment-changed"
)

// remembered takes BBR's version from the store where this kernel does not say it: its module is not loaded yet, or the hosts
// of a fleet have kernels of their own, and have said it before.
func (o Options) remembered(ctx context.Context, s Settings) (Options, error) {
	was, _, err := s.Setting(ctx, settingTreatment)
	if version, has := strings.CutPrefix(string(was), bbrVersion); has && !o.TreatmentKnown && o.Rules.Treatment == "bbr" {
		o.Rules.TreatmentVersion, _ = strconv.Atoi(version) // as noteTreatment wrote it
	}
	return o, err
}

const bbrVersion = "bbr version "

// noteTreatment keeps which treatment the evidence is of from now on.
func (c *Controller) noteTreatment(ctx context.Context, r policy.Rules) error {
	is := r.Treatment
	if r.TreatmentVersion > 1 {
		is = fmt.Sprintf("%s version %d", is, r.TreatmentVersion)
	}
	was, have, err := c.store.Setting(ctx, settingTreatment)
	if err != nil || string(was) == is {
		return err
	}
	if !have {
		return c.store.SetSetting(ctx, settingTreatment, []byte(is))
	}
	from, err := c.afterLastRound(ctx)
	if err != nil {
		return err
	}
	return c.tell(ctx, kindTreatment, fmt.Sprintf("the treatment was %s and is %s: what the loop learnt before counts no more", was, is),
		map[string][]byte{settingTreatment: []byte(is), settingEvidence: strconv.AppendInt(nil, from, 10)})
}

// hear takes the version of BBR that a fleet's hosts have; 0 is unknown.
func (c *Controller) hear(ctx context.Context, version int) error {
	if version == 1 {
		version = 0 // as in Rules
	} else if version == 0 {
		return nil
	}
	opt := c.opt
	if opt.Rules.Treatment != "bbr" || version == opt.Rules.TreatmentVersion {
		return nil
	}
	opt.Rules.TreatmentVersion = version
	if err := c.noteTreatment(ctx, opt.Rules); err != nil {
		return err
	}
	engine, err := Replay(ctx, c.store, opt.engine(c.salt), c.now())
	if err != nil {
		return err
	}
	c.engine, c.opt = engine, opt
	return nil
}

// afterLastRound is a time by the windows' clock: the start after a reboot into another kernel is when a clock is wrong.
func (c *Controller) afterLastRound(ctx context.Context) (int64, error) {
	rounds, err := c.store.Rounds(ctx, 1)
	if err != nil || len(rounds) == 0 {
		return c.now().Unix(), err
	}
	return rounds[0].Window + 1, nil
}

// evidenceFrom returns the start of the windows that a replay takes, not before from.
func evidenceFrom(ctx context.Context, s Settings, from int64) (int64, error) {
	text, have, err := s.Setting(ctx, settingEvidence)
	if err != nil || !have {
		return from, err
	}
	since, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return from, fmt.Errorf("read setting %s: %.20q is no time", settingEvidence, text)
	}
	return max(from, since), nil
}
