package advise

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// queueSections are networkd's sections that choose a root qdisc, with tc's names.
var queueSections = map[string]string{"FairQueueing": "fq", "FairQueueingControlledDelay": "fq_codel", "ControlledDelay": "codel",
	"TokenBucketFilter": "tbf", "NetworkEmulator": "netem", "CAKE": "cake", "PFIFOFast": "pfifo_fast", "PFIFO": "pfifo", "BFIFO": "bfifo",
	"HierarchyTokenBucket": "htb", "StochasticFairnessQueueing": "sfq", "PIE": "pie", "FlowQueuePIE": "fq_pie",
	"StochasticFairBlue": "sfb", "PFIFOHeadDrop": "pfifo_head_drop", "DeficitRoundRobinScheduler": "drr", "EnhancedTransmissionSelection": "ets",
	"GenericRandomEarlyDetection": "gred", "HeavyHitterFilter": "hhf", "QuickFairQueueing": "qfq", "TrivialLinkEqualizer": "teql",
	"BandMultiQueueing": "multiq", "TrafficControlQueueingDiscipline": "netem"}

// checkNetworkd: networkd's configuration returns whenever the link does, whatever tc set.
func checkNetworkd(f *Facts) Finding {
	var found []string
	other, hidden := false, ""
	for _, file := range f.networkd() {
		if file.Why != "" {
			hidden = file.Path + ": " + file.Why
		}
		for _, e := range parseINI(file.Text) {
			if kind, is := queueSections[e.section]; is && e.key == "" {
				found = append(found, fmt.Sprintf("%s:%d %s", file.Path, e.line, kind))
				other = other || kind != "fq"
			}
		}
	}
	if hidden != "" && len(found) == 0 {
		return unclear("what systemd-networkd sets", hidden, grantRoot(f))
	}
	return f.owner("systemd-networkd", found, other, "replace the section with [FairQueueing], then: sudo networkctl reload")
}

// networkd returns its files for networks, and the drop-ins of each of them, which netplan and people write.
func (f *Facts) networkd() (list Files) {
	list, _ = f.Files.DropIns(NetworkdDirs, ".network")
	list = append(list, f.Files.hidden(NetworkdDirs)...)
	var names []string
	for _, file := range f.Files {
		if dir := path.Dir(file.Path); strings.HasSuffix(dir, ".network.d") && slices.Contains(NetworkdDirs, path.Dir(dir)) {
			names = append(names, path.Base(dir))
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		var dirs []string
		for _, dir := range NetworkdDirs {
			dirs = append(dirs, dir+"/"+name)
		}
		more, _ := f.Files.DropIns(dirs, ".conf")
		list = append(list, more...)
	}
	return list
}

// checkKeyfiles looks at NetworkManager's file for each connection.
func checkKeyfiles(f *Facts) Finding {
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
		return unclear("what NetworkManager sets", hidden, grantRoot(f))
	}
	return f.owner("NetworkManager", found, other, "sudo nmcli connection modify "+name+" tc.qdiscs 'root fq' && sudo nmcli connection up "+name)
}

func (f *Facts) owner(who string, found []string, other bool, fix string) Finding {
	switch {
	case len(found) == 0:
		return ok("%s sets no qdisc", who)
	case !other:
		return ok("%s sets fq: %s", who, some(found))
	}
	return warn("%s sets a qdisc of its own: %s", who, some(found)).
		because("it is set again whenever the interface comes up, so a qdisc replaced by hand does not last").
		fix(fix, "restore the section")
}

func checkTuned(f *Facts) Finding {
	profile := f.tunedProfile()
	if profile == "" {
		return ok("tuned has no active profile")
	}
	for _, key := range []string{KeyCong, KeyQdisc} {
		s, sets := f.tunedSets(key)
		switch {
		case !sets || IsBBR(s.Value) || s.Value == "fq":
		case s.Odd:
			return unclear("what profile "+profile+" sets", s.at()+": "+short(key)+"="+s.Value+" has a variable", "see after a reboot: sysctl "+key)
		case f.setInEtc(key) && f.tunedReapplies():
			return ok("profile %s sets %s=%s; tuned applies the files of /etc after it, and they set it too", profile, short(key), s.Value)
		default:
			if !f.tunedReapplies() {
				return warn("profile %s sets %s=%s (%s), after all files of settings (reapply_sysctl = 0)", profile, short(key), s.Value, s.at()).
					because("tuned sets it after sysctl at every boot and profile switch").fix("change the profile, or set reapply_sysctl = 1 in "+TunedMain, "set it back")
			}
			return warn("profile %s sets %s=%s (%s)", profile, short(key), s.Value, s.at()).
				because("tuned sets it after sysctl at every boot and profile switch; only files in /etc apply after it, not those in /usr/lib").
				fix(enableBBR, disable)
		}
	}
	return ok("profile %s sets neither congestion control nor qdisc", profile)
}
