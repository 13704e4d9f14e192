package paperhosttest

import (
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/host/advise"
)

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"-- /etc/x":                            "lacks its closing",
		"-- links --\neth0 sideways":           "unknown word",
		"-- links --\neth0 queues big":         "invalid character",
		"-- links --\n  qdisc fq 0: root":      "after a link",
		"-- links --\ne\n qdisc fq 0 root":     "use MAJOR:MINOR",
		"-- links --\ne\n qdisc fq 0: parent":  "use MAJOR:MINOR",
		"-- sockets --\nbbr":                   "use CONGESTION-CONTROL COUNT",
		"-- sockets --\na b bbr speed 3":       "unknown word",
		"-- spaces --\nblue":                   "use name and congestion control",
		"-- loop --\nprogram 3":                "use tier, reason or sock_ops",
		"-- loop --\nsock_ops x y":             "use sock_ops ID NAME",
		"-- weather --":                        "use a path",
		"-- /etc/../x --":                      "write it as /x",
		"-- /etc/x ! lost --":                  "use not there",
		"-- sysctl --\nnet.core.default_qdisc": "use key = value",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzParse: any text is refused or can be read and checked to the end.
func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		f.Add(text(f, name))
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := Parse(text)
		if err != nil {
			return
		}
		facts := h.Read()
		r := advise.NewReport(&facts)
		for _, x := range r.Findings {
			if x.ID == "" || x.Fact == "" || x.Verdict == "" {
				t.Errorf("%+v", x)
			}
		}
		advise.NewEvidence(&facts)
	})
}
