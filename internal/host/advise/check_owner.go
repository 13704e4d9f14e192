package advise

import (
	"fmt"
	"path"
	"strings"
)

// queueSections are networkd's sections that choose a root qdisc, with tc's names.
var queueSections = map[string]string{"FairQueueing": "fq", "FairQueueingControlledDelay": "fq_codel", "ControlledDelay": "codel",
	"TokenBucketFilter": "tbf", "NetworkEmulator": "netem", "CAKE": "cake", "PFIFOFast": "pfifo_fast", "PFIFO": "pfifo", "BFIFO": "bfifo",
	"HierarchyTokenBucket": "htb", "StochasticFairnessQueueing": "sfq", "PIE": "pie", "FlowQueuePIE": "fq_pie"}

// checkNetworkd: what networkd configures comes back whenever the link does, whatever tc set.
func checkNetworkd(f *Facts) Finding {
	const id = "networkd-qdisc"
	order, _ := f.Files.DropIns(NetworkdDirs, ".network")
	var found []string
	other := false
	for _, file := range order {
		for _, e := range parseINI(file.Text) {
			if kind, is := queueSections[e.section]; is && e.key == "" {
				found = append(found, fmt.Sprintf("%s:%d %s", file.Path, e.line, kind))
				other = other || kind != "fq"
			}
		}
	}
	return f.owner(id, "systemd-networkd", found, other, "replace the section by [FairQueueing] and: sudo networkctl reload")
}

// checkKeyfiles looks at what NetworkManager keeps of each connection.
func checkKeyfiles(f *Facts) Finding {
	const id = "networkmanager-qdisc"
	var found []string
	other := false
	hidden, name := "", "NAME"
	for _, file := range f.Files {
		if file.Why != "" && strings.Contains(file.Path, "/NetworkManager/") {
			hidden = file.Path + ": " + file.Why
		}
		if !strings.HasSuffix(file.Path, ".nmconnection") {
			continue
		}
		for _, e := range parseINI(file.Text) {
			if e.section == "tc" && strings.HasPrefix(e.key, "qdisc.root") {
				found = append(found, fmt.Sprintf("%s:%d %s", file.Path, e.line, e.value))
				if e.value != "fq" {
					other, name = true, strings.TrimSuffix(path.Base(file.Path), ".nmconnection")
				}
			}
		}
	}
	if hidden != "" && len(found) == 0 {
		return unclear(id, "what NetworkManager sets", hidden, grantRoot(f))
	}
	return f.owner(id, "NetworkManager", found, other, "sudo nmcli connection modify "+name+" tc.qdiscs 'root fq' && sudo nmcli connection up "+name)
}

func (f *Facts) owner(id, who string, found []string, other bool, fix string) Finding {
	switch {
	case len(found) == 0:
		return ok(id, "%s sets no qdisc", who)
	case !other:
		return ok(id, "%s sets fq: %s", who, some(found))
	}
	return warn(id, "%s sets a qdisc of its own: %s", who, some(found)).
		because("it comes back whenever the interface does: a qdisc that is replaced by hand does not last").
		fix(fix, "the section as it was")
}

func checkTuned(f *Facts) Finding {
	const id = "tuned"
	profile := f.tunedProfile()
	if profile == "" {
		return ok(id, "tuned has no active profile")
	}
	for _, key := range []string{KeyCong, KeyQdisc} {
		s, sets := f.tunedSets(key)
		switch {
		case !sets || s.Value == "bbr" || s.Value == "fq":
		case f.setInEtc(key):
			return ok(id, "profile %s sets %s=%s; tuned applies the files of /etc after it, and they set it, too", profile, short(key), s.Value)
		default:
			return warn(id, "profile %s sets %s=%s (%s)", profile, short(key), s.Value, s.at()).
				because("tuned sets it after sysctl at every boot and profile switch; only files of /etc come after it, not those of /usr/lib").
				fix(enableBBR, disable)
		}
	}
	return ok(id, "profile %s sets neither congestion control nor qdisc", profile)
}
