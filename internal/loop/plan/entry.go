package plan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/tcp/record"
)

const treat = "treat"

// entryFields is the number of words of a line; the reason counts as one.
const entryFields = 7

func appendEntry(b []byte, e Entry) []byte {
	b = append(b, treat+" "...)
	b = append(b, e.Prefix.String()...)
	b = append(b, ' ')
	b = appendWord(b, e.Cong)
	b = append(b, ' ')
	b = appendWord(b, e.State)
	b = append(b, ' ')
	b = appendTime(b, e.Since)
	b = append(b, ' ')
	b = appendCap(b, e.CapBytesPerS)
	b = append(b, ' ')
	return appendFree(b, e.Reason)
}

func appendCap(b []byte, bytesPerS uint64) []byte {
	if bytesPerS == 0 {
		return append(b, '-')
	}
	return strconv.AppendUint(b, bytesPerS, 10)
}

// parseEntry reads one line; field names the word that is wrong.
func parseEntry(line string) (e Entry, field string, err error) {
	w := strings.SplitN(line, " ", entryFields)
	if len(w) != entryFields {
		return e, treat, fmt.Errorf("%d words; want %q and then %s", len(w), treat, columns)
	}
	if e.Prefix, err = record.ParsePrefix(w[1]); err != nil {
		return e, "prefix", err
	}
	if e.Since, err = parseTime(w[4]); err != nil {
		return e, "since", err
	}
	if e.CapBytesPerS, err = parseCap(w[5]); err != nil {
		return e, "cap_bytes_per_s", err
	}
	e.Cong, e.State, e.Reason = w[2], w[3], w[6]
	field, err = e.check()
	return e, field, err
}

func parseCap(s string) (uint64, error) {
	if s == "-" {
		return 0, nil
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil || v == 0 {
		return 0, fmt.Errorf("%s: not a whole number of bytes per second; write \"-\" for none", quote(s))
	}
	return v, nil
}

// check holds the rules for an entry alone.
func (e Entry) check() (field string, err error) {
	if (!e.Prefix.Valid() || e.Prefix == 0) && e.Prefix != record.All {
		return "prefix", fmt.Errorf("%s: not a /24 (IPv4) or /56 (IPv6)", e.Prefix)
	}
	if err := checkCong(e.Cong); err != nil {
		return "cong", err
	}
	if err := checkOneOf(e.State, StateSelected, StateTrial, StatePromoted, StateSettled, StateHoldout, StateAA, StateAlways, StateUncontrolled); err != nil {
		return "state", err
	}
	if err := checkTime(e.Since); err != nil {
		return "since", err
	}
	if err := checkFree(e.Reason, MaxReasonBytes); err != nil {
		return "reason", err
	}
	return "", nil
}

// checkState compares the state with the header, since it determines the arms.
func (e Entry) checkState(p *Plan) error {
	switch {
	case e.State == StateAlways || e.State == StateUncontrolled:
		return nil
	case e.Prefix == record.All:
		return fmt.Errorf("%q: all networks at once are %q or %q", e.State, StateAlways, StateUncontrolled)
	case p.Experiment == ExperimentOff && e.State != StateSelected:
		return fmt.Errorf("%q: with experiment off write %q, %q or %q", e.State, StateSelected, StateAlways, StateUncontrolled)
	case p.Experiment == ExperimentOn && e.State == StateSelected:
		return errors.New("\"selected\": with experiment on write \"trial\", \"promoted\", \"holdout\" or \"aa\"")
	case e.State == StateSettled && p.GroupSettled == 0:
		return fmt.Errorf("%q: a plan of format %s has no group-settled; write %q", e.State, p.format(), StatePromoted)
	}
	return nil
}
