package controller

import (
	"context"
	"fmt"
	"strconv"
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
	switch v := c.opt.Rules.TreatmentVersion; {
	case v == 0 && is == "bbr":
		return nil // unknown: its module is not loaded yet, or the hosts have kernels of their own
	case v > 1:
		is = fmt.Sprintf("%s version %d", is, v)
	}
	was, have, err := c.store.Setting(ctx, settingTreatment)
	if err != nil || string(was) == is {
		return err
	}
	if !have {
		return c.store.SetSetting(ctx, settingTreatment, []byte(is))
	}
	return c.tell(ctx, kindTreatment, fmt.Sprintf("the treatment was %s and is %s: what the loop learnt before counts no more", was, is),
		map[string][]byte{settingTreatment: []byte(is), settingEvidence: strconv.AppendInt(nil, c.now().Unix(), 10)})
}

// evidenceFrom returns the start of the windows that a replay takes, not before from. A time to come is that of a clock that was
// ahead, and counts for nothing.
func evidenceFrom(ctx context.Context, s Settings, from, now int64) (int64, error) {
	text, have, err := s.Setting(ctx, settingEvidence)
	if err != nil || !have {
		return from, err
	}
	since, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return from, fmt.Errorf("read setting %s: %.20q is no time", settingEvidence, text)
	}
	if since > now {
		return from, nil
	}
	return max(from, since), nil
}
