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

func (c *Controller) noteTreatment(ctx context.Context) error {
	is := c.opt.Rules.Treatment
	if v := c.opt.Rules.TreatmentVersion; v > 1 {
		is = fmt.Sprintf("%s version %d", is, v)
	}
	was, have, err := c.store.Setting(ctx, settingTreatment)
	// Unknown is any version: BBR's module is not loaded yet, or the hosts have kernels of their own.
	unknown := !c.opt.TreatmentKnown && is == "bbr" && strings.HasPrefix(string(was), is)
	if err != nil || string(was) == is || unknown {
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
