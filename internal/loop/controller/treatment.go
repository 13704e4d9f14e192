package controller

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// What was learnt of one treatment says nothing of another, and a kernel may have another BBR under the same name. So the store
// has the treatment that its evidence is of, and the time from which it counts.
const (
	settingTreatment = "treatment"
	settingEvidence  = "evidence_from" // Unix seconds

	kindTreatment = "treatment-changed"
)

const bbrVersion = "bbr version "

// evidenceOf is what the store calls the treatment: with BBR's version, if that is known.
func (o Options) evidenceOf() string {
	if v := o.Rules.TreatmentVersion; o.Rules.Treatment == "bbr" && (o.TreatmentKnown || v > 0) {
		return bbrVersion + strconv.Itoa(max(v, 1))
	}
	return o.Rules.Treatment
}

// remembered takes BBR's version from the store where this kernel does not say it: its module is not loaded yet, or the hosts
// of a fleet have kernels of their own, and have said it before.
func (o Options) remembered(ctx context.Context, s Settings) (Options, error) {
	was, _, err := s.Setting(ctx, settingTreatment)
	if version, has := strings.CutPrefix(string(was), bbrVersion); has && !o.TreatmentKnown && o.Rules.Treatment == "bbr" {
		o.Rules.TreatmentVersion, _ = strconv.Atoi(version) // as noteTreatment wrote it
	}
	return o, err
}

// noteTreatment keeps what the evidence is of from now on. A store without a version is of a fleet whose hosts had not said it
// (first is that they do), or of an earlier congctl, which wrote none for version 1: its evidence is kept.
func (c *Controller) noteTreatment(ctx context.Context, o Options, first bool) error {
	is := o.evidenceOf()
	was, have, err := c.store.Setting(ctx, settingTreatment)
	if err != nil || string(was) == is {
		return err
	}
	if !have || string(was) == "bbr" && (first || is == bbrVersion+"1") {
		return c.store.SetSetting(ctx, settingTreatment, []byte(is))
	}
	from, err := c.afterLastRound(ctx)
	if err != nil {
		return err
	}
	return c.tell(ctx, kindTreatment, fmt.Sprintf("the treatment was %s and is %s: what the loop learnt before counts no more", was, is),
		map[string][]byte{settingTreatment: []byte(is), settingEvidence: strconv.AppendInt(nil, from, 10)})
}

// heard is a version of BBR that a fleet's hosts have, other than the one whose effects are learnt, and for how many windows in a row.
type heard struct{ version, windows int }

// hearWindows in a row must say so, a quarter of an hour: hosts come back one by one after a controller's start, and evidence that
// is dropped has to be learnt anew for hours.
const hearWindows = 3

// hear takes the version of BBR that most of a fleet's hosts have; 0 is unknown.
func (c *Controller) hear(ctx context.Context, version int) error {
	opt := c.opt
	if version == 0 || opt.Rules.Treatment != "bbr" || version == opt.Rules.TreatmentVersion {
		c.heard = heard{}
		return nil
	}
	if c.heard.version != version {
		c.heard = heard{version: version}
	}
	if c.heard.windows++; c.heard.windows < hearWindows {
		return nil
	}
	first := opt.Rules.TreatmentVersion == 0
	opt.Rules.TreatmentVersion = version
	if err := c.noteTreatment(ctx, opt, first); err != nil {
		return err
	}
	return c.relearn(ctx, opt)
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
