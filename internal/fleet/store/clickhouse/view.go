package clickhouse

import (
	"fmt"
	"slices"
	"strings"
)

// View windows: one row for each PoP, window, network, arm, congestion control, carry-over, control and
// cap, with the columns of SQLite's table windows under the same names, in the same units, from the
// records as they are now, each once. Nothing here decides by it; it is for people and dashboards.
//
// It computes what loop/window computes, by the same operations in the same order, so that figures agree
// to the last digit: quantiles of type 7 (of connections that weigh the same as quantileExactInclusive
// has it, but that rounds otherwise), weights of thinned records, and no client above its share
// (loop/window/client.go has the equation). It is arrays throughout, which 18.16 has too.
//
// What it cannot have, since the plan lies in the controller's store: washout, and control where a
// network is in its wash-out or treated now. Nor has it a row's cap of 4,096 samples. It takes the
// default of treatment.min_bytes, and networks without an eligible connection have rows, too. Means
// and variances of logarithms agree to 12 digits: ClickHouse's log is not Go's.

// viewEligible is treatment.min_bytes by default.
const viewEligible = 100_000

// createWindows returns the statements, from the inside out. A level names what the next one uses, and uses no
// name of its own; each is a view, windows_1 and on, and the last windows. Servers look into each name and each
// nested statement twice, so that the time to understand one statement of them all grows beyond bounds.
func createWindows(table string) (list []string) {
	all := "*"
	for _, c := range new(row).columns() { // * has no derived columns
		if slices.Contains(counted, c.name()) && table != "conns" && derivationOf(c.name(), table) != nil {
			all += ", " + c.name()
		}
	}
	q := "SELECT " + all + ", " + viewRecords + " FROM " + table + " FINAL WHERE client_facing = 1 AND assigned != 5 AND applied != 11 AND " +
		"bitAnd(prefix, 255) = if(prefix < 4294967296, 24, 56)"
	q = "SELECT *, " + viewRecord + " FROM (" + q + ")"
	q = "SELECT " + viewKey + ", number, " + viewClients + " FROM (" + q + ") GROUP BY " + viewKey + ", number"
	q = "SELECT *, arrayMap((s, own, late) -> (s.1, s.2, s.3, s.4, s.5, s.6, own, late), list, " + same("own", "list") + ", " + same("own_late", "list") + ") AS owned FROM (" + q + ")"
	q = "SELECT " + viewKey + ", " + viewRows + " FROM (" + q + ") GROUP BY " + viewKey
	for _, level := range slices.Concat(mostLevels(), shareLevels(), metricLevels(), quantileLevels(), worthLevels()) {
		name := fmt.Sprint("windows_", len(list)+1)
		list = append(list, "CREATE VIEW IF NOT EXISTS "+name+" AS "+q)
		q = "SELECT *, " + level + " FROM " + name
	}
	name := fmt.Sprint("windows_", len(list)+1)
	return append(list, "CREATE VIEW IF NOT EXISTS "+name+" AS "+q, "CREATE VIEW IF NOT EXISTS windows AS SELECT "+viewFigures()+" FROM "+name)
}

// dropWindows drops what createWindows has made, from the outside in.
func dropWindows() []string {
	list := []string{"DROP TABLE IF EXISTS windows"}
	for i := len(createWindows("conns")) - 1; i > 0; i-- {
		list = append(list, fmt.Sprint("DROP TABLE IF EXISTS windows_", i))
	}
	return list
}

const viewKey = "pop, start, net, arm, cong, carryover, control, capped"

// A record: n is what it stands for, number its client's in its network.
var viewRecords = fmt.Sprintf(`window AS start, prefix AS net, assigned AS arm,
toUInt8(default_cong = 1 AND carryover = 0 AND assigned != 1) AS control,
toUInt64(if(weight > 1, least(weight, 1024.) + 0.5, 1.)) AS n,
toUInt8(if(client > 0, client - 1, reinterpretAsUInt8(substring(remote, if(prefix < 4294967296, length(remote), 8), 1)))) AS number,
win_bytes_acked >= %[1]d AS big, win_bytes_acked >= %[1]d AND passive = 1 AND rate_source != 0 AS counts, rate_source = 1 AS mean,
if(win_late_samples >= 3 AND late_bytes_per_s > 0, late_bytes_per_s, 0.) AS late`, viewEligible)

// viewRecord has the values as a sample keeps them.
const viewRecord = `(toFloat64(toFloat32(rate_bytes_per_s)),
toFloat64(toFloat32(if(mean AND win_counted_busy_us > 0, toFloat64(win_counted_bytes_acked) / (toFloat64(win_counted_busy_us) / 1e6), 0.))),
toFloat64(info_min_rtt_us), toFloat64(info_rtt_us), toFloat64(toFloat32(late)), toFloat64(n)) AS sample,
n * win_bytes_acked AS acked, n * win_bytes_sent AS sent, n * win_bytes_retrans AS retrans, n * win_busy_us AS busy,
n * win_rwnd_limited_us AS rwnd, n * win_elapsed_us AS elapsed, n * win_limited_samples AS limited,
n * win_limited_samples + n * win_rate_samples AS sampled, n * win_episodes AS loss,
n * if(mean, win_counted_bytes_sent, win_bytes_sent) AS esent, n * if(mean, win_counted_bytes_retrans, win_bytes_retrans) AS eretrans`

// viewShares are shares: part, whole.
var viewShares = []struct{ name, part, whole string }{
	{"retrans", "retrans", "sent"}, {"rwnd", "rwnd", "busy"}, {"busy", "busy", "elapsed"}, {"limited", "limited", "sampled"},
}

// viewCounters are what shares are of.
var viewCounters = []string{"sent", "retrans", "busy", "rwnd", "elapsed", "limited", "sampled"}

// viewClients are a client's sums in a row: over those that reached the threshold, and over all.
var viewClients = func() string {
	list := []string{
		"sum(n) AS c_conns, sum(acked) AS c_bytes, max(big) AS c_big, countIf(counts) AS c_eligible, countIf(counts AND mean) AS c_means, countIf(counts AND late > 0) AS c_lates",
		"sumIf(esent, counts) AS c_esent, sumIf(eretrans, counts) AS c_eretrans, sumIf(loss, counts) AS c_loss",
		"groupArrayIf(sample, counts) AS list, toFloat64(sumIf(n, counts)) AS own, toFloat64(sumIf(n, counts AND toFloat32(late) > 0)) AS own_late",
	}
	for _, c := range viewCounters {
		list = append(list, fmt.Sprintf("sumIf(%[1]s, big) AS big_%[1]s, sum(%[1]s) AS all_%[1]s", c))
	}
	return strings.Join(list, ",\n")
}()

// viewRows are a row's sums, its samples, and its clients in order: number, their sizes, their big sums.
var viewRows = func() string {
	list := []string{
		"toUInt32(least(sum(c_conns), 4294967295)) AS conns, sum(c_bytes) AS bytes, max(c_big) AS has_big",
		"toUInt32(sum(c_eligible)) AS n_eligible, toUInt32(sum(c_means)) AS n_means, toUInt32(sum(c_lates)) AS n_lates",
		"sum(c_esent) AS eligible_sent_bytes, sum(c_eretrans) AS eligible_retrans_bytes, sum(c_loss) AS episodes",
		"groupArrayArray(owned) AS samples, groupArray(own) AS owns, groupArray(own_late) AS owns_late",
	}
	var sums []string
	for _, c := range viewCounters {
		list = append(list, fmt.Sprintf("sum(all_%[1]s) AS row_%[1]s", c))
		sums = append(sums, "big_"+c)
	}
	return strings.Join(append(list, "arraySort(groupArray((number, "+strings.Join(sums, ", ")+"))) AS clients"), ",\n")
}()

// viewMetrics are places in a sample, with the place of its client's own number there, and that client's most.
var viewMetrics = []struct {
	name      string
	at, owner int
	most      string
}{{"rate", 1, 7, "most_own"}, {"goodput", 2, 7, "most_own"}, {"rtt", 3, 7, "most_own"}, {"srtt", 4, 7, "most_own"}, {"late", 5, 8, "most_late"}}

// each writes a text for each name, which stands for %[1]s.
func each(text string, names ...string) string {
	var list []string
	for _, n := range names {
		list = append(list, fmt.Sprintf(text, n))
	}
	return strings.Join(list, ",\n")
}

func metrics() (names []string) {
	for _, m := range viewMetrics {
		names = append(names, m.name)
	}
	return names
}

// same is a value as often as a list has elements. Versions that do not look into functions for the columns
// that they need would not find it there by itself.
func same(value, list string) string {
	return fmt.Sprintf("arrayResize([%[1]s], length(%[2]s), %[1]s)", value, list)
}

// mostLevels compute stat.MostOf of each list of sizes: most_.
func mostLevels() []string {
	var lists []string
	bounds := []string{"own", "late"}
	for _, s := range viewShares {
		for _, which := range []string{s.part, s.whole} {
			at := slices.Index(viewCounters, which) + 2
			lists = append(lists, fmt.Sprintf("if(has_big, arrayMap(c -> toFloat64(c.%d), clients), [toFloat64(row_%s)]) AS list_%s_%s", at, which, s.name, which))
		}
		bounds = append(bounds, s.name)
	}
	sizes := []string{"arrayReverseSort(arrayFilter(v -> v > 0, owns)) AS sizes_own", "arrayReverseSort(arrayFilter(v -> v > 0, owns_late)) AS sizes_late"}
	for _, s := range viewShares {
		sizes = append(sizes, fmt.Sprintf("arrayReverseSort(arrayFilter(v -> v > 0, list_%[1]s_%[2]s)) AS sizes_%[1]s", s.name, s.whole))
	}
	return []string{
		strings.Join(lists, ",\n"),
		strings.Join(sizes, ",\n"),
		each("greatest(1. / 3., 1. / length(sizes_%[1]s)) AS c_%[1]s, arrayCumSum(sizes_%[1]s) AS run_%[1]s, arraySum(sizes_%[1]s) AS total_%[1]s", bounds...),
		each("arrayMap((s, run, i, c, total) -> c * (total - (run - s)) / (1. - toFloat64(i - 1) * c), sizes_%[1]s, run_%[1]s, arrayEnumerate(sizes_%[1]s), "+
			same("c_%[1]s", "sizes_%[1]s")+", "+same("total_%[1]s", "sizes_%[1]s")+") AS cuts_%[1]s", bounds...),
		each("arrayFirstIndex((s, cut) -> s <= cut, sizes_%[1]s, cuts_%[1]s) AS first_%[1]s", bounds...),
		each("if(first_%[1]s = 0, sizes_%[1]s[-1], cuts_%[1]s[first_%[1]s]) AS most_%[1]s", bounds...),
	}
}

// shareLevels bound the clients' parts of each share and add them up, in order: a sum of floats depends on it.
func shareLevels() []string {
	var parts, names []string
	for _, s := range viewShares {
		names = append(names, s.name)
		part, whole := fmt.Sprintf("list_%s_%s", s.name, s.part), fmt.Sprintf("list_%s_%s", s.name, s.whole)
		parts = append(parts, fmt.Sprintf("arrayMap((p, w, most) -> (if(w > most, p * (most / w), p), least(w, most)), %s, %s, %s) AS all_parts_%s",
			part, whole, same("most_"+s.name, part), s.name))
	}
	return []string{
		strings.Join(parts, ",\n"),
		each("arraySort(p -> (p.2, p.1), arrayFilter(p -> p.2 > 0, all_parts_%[1]s)) AS parts_%[1]s", names...),
		each("arrayCumSum(arrayMap(p -> p.1, parts_%[1]s))[-1] AS part_%[1]s, arrayCumSum(arrayMap(p -> p.2, parts_%[1]s))[-1] AS whole_%[1]s", names...),
		each("if(whole_%[1]s > 0, least(part_%[1]s / whole_%[1]s, 1.), 0.) AS share_%[1]s, arrayMap((p, part, whole) -> (greatest(0., part - p.1), whole - p.2), parts_%[1]s, "+
			same("part_%[1]s", "parts_%[1]s")+", "+same("whole_%[1]s", "parts_%[1]s")+") AS rests_%[1]s", names...),
		each("arrayMap(p -> if(p.2 > 0, least(p.1 / p.2, 1.), 0.), rests_%[1]s) AS without_%[1]s", names...),
	}
}

// metricLevels sort each metric's known values with their weights, and add them up.
func metricLevels() []string {
	var cols []string
	for _, m := range viewMetrics {
		cols = append(cols, fmt.Sprintf("arrayMap((s, most) -> (s.%[2]d, s.6 * if(s.%[3]d > 1, least(1., most / s.%[3]d), 1.), s.6), samples, %[4]s) AS any_%[1]s",
			m.name, m.at, m.owner, same(m.most, "samples")))
	}
	return []string{
		strings.Join(cols, ",\n"),
		each("arraySort(arrayFilter(c -> c.1 > 0 AND c.1 != 4294967295, any_%[1]s)) AS col_%[1]s", metrics()...),
		each("arrayMap(c -> c.1, col_%[1]s) AS v_%[1]s, arrayMap(c -> c.3, col_%[1]s) AS t_%[1]s, arrayCumSum(arrayMap(c -> c.2, col_%[1]s)) AS sums_%[1]s, "+
			"arrayCumSum(arrayMap(c -> c.2 * c.2, col_%[1]s))[-1] AS squares_%[1]s", metrics()...),
		each("sums_%[1]s[-1] AS all_%[1]s, arraySum(t_%[1]s) AS times_%[1]s, toFloat64(length(v_%[1]s)) AS len_%[1]s, "+
			"length(arrayFilter((t, first) -> t != first, t_%[1]s, "+same("t_%[1]s[1]", "t_%[1]s")+")) > 0 AS mixed_%[1]s", metrics()...),
		each("greatest(all_%[1]s * all_%[1]s / squares_%[1]s, 1.) AS worth_%[1]s, mixed_%[1]s OR all_%[1]s < times_%[1]s AS uneven_%[1]s", metrics()...),
		each("arrayMap(v -> log(v), v_%[1]s) AS ln_%[1]s, arrayMap((t, times, len, mixed) -> if(mixed, t / times, 1. / len), t_%[1]s, "+
			same("times_%[1]s", "t_%[1]s")+", "+same("len_%[1]s", "t_%[1]s")+", "+same("mixed_%[1]s", "t_%[1]s")+") AS equal_%[1]s", "rate", "goodput"),
		each("arraySum(arrayMap((v, w) -> v * w, ln_%[1]s, equal_%[1]s)) AS log_%[1]s_mean", "rate", "goodput"),
		each("arraySum(arrayMap((v, w, mean) -> (v - mean) * (v - mean) * w, ln_%[1]s, equal_%[1]s, "+same("log_%[1]s_mean", "ln_%[1]s")+")) AS log_%[1]s_var", "rate", "goodput"),
	}
}

// viewQuantiles are of a metric.
var viewQuantiles = []struct{ name, metric, q string }{
	{"rate_p05_bytes_per_s", "rate", "0.05"}, {"rate_p10_bytes_per_s", "rate", "0.1"}, {"rate_p20_bytes_per_s", "rate", "0.2"},
	{"rate_p50_bytes_per_s", "rate", "0.5"}, {"rate_p80_bytes_per_s", "rate", "0.8"}, {"min_rtt_us", "rtt", "0.5"}, {"srtt_us", "srtt", "0.5"},
	{"late_p50_bytes_per_s", "late", "0.5"}, {"late_p95_bytes_per_s", "late", "0.95"},
}

// quantileLevels compute stat.Sorted, or of uneven weights stat.Weighted.
func quantileLevels() []string {
	text := func(text string) string {
		var list []string
		for i, q := range viewQuantiles {
			list = append(list, strings.NewReplacer("#", fmt.Sprint("q", i), "@", q.metric, "$", q.q, "&", q.name).Replace(text))
		}
		return strings.Join(list, ",\n")
	}
	return []string{
		text("$ * (len_@ - 1.) AS at_#, $ * (worth_@ - 1.) / worth_@ * all_@ AS low_#"),
		text("toUInt64(floor(at_#)) AS i_#, at_# - floor(at_#) AS t_#, low_# + all_@ / worth_@ AS high_#"),
		text("v_@[i_# + 1] AS x_#, v_@[i_# + 2] AS y_#, arrayMap((s, was, v, low, high) -> (least(high, s) - greatest(low, was), v), sums_@, arrayPopBack(arrayPushFront(sums_@, 0.)), v_@, " +
			same("low_#", "v_@") + ", " + same("high_#", "v_@") + ") AS steps_#"),
		text("arrayFilter((p, all) -> p.1 > 1e-12 * all, steps_#, " + same("all_@", "steps_#") + ") AS taken_#"),
		text("arrayCumSum(arrayMap(p -> p.1 * p.2, taken_#))[-1] / arrayCumSum(arrayMap(p -> p.1, taken_#))[-1] AS w_#, arrayMap(p -> p.2, taken_#) AS vs_#"),
		text("multiIf(len_@ = 0, 0., uneven_@, least(greatest(w_#, vs_#[1]), vs_#[-1]), t_# = 0 OR x_# = y_#, x_#, t_# < 0.5, x_# + (y_# - x_#) * t_#, y_# - (y_# - x_#) * (1. - t_#)) AS &"),
	}
}

// worthLevels compute row.worth of loop/window.
func worthLevels() []string {
	names := []string{"eligible", "means", "lates"}
	return []string{
		"samples AS of_eligible, arrayFilter(s -> s.2 > 0, samples) AS of_means, arrayFilter(s -> s.5 > 0, samples) AS of_lates",
		each("arraySum(arrayMap(s -> s.6, of_%[1]s)) AS stand_%[1]s, arraySum(arrayMap(s -> s.6 * s.6, of_%[1]s)) AS square_%[1]s, toFloat64(length(of_%[1]s)) AS known_%[1]s", names...),
		each("toUInt32(if(known_%[1]s * square_%[1]s = stand_%[1]s * stand_%[1]s, toFloat64(n_%[1]s), "+
			"greatest(1., floor(toFloat64(n_%[1]s) * stand_%[1]s * stand_%[1]s / (known_%[1]s * square_%[1]s) + 0.5)))) AS worth_of_%[1]s", names...),
	}
}

// viewFigures are the columns of the view, in the order of SQLite's.
func viewFigures() string {
	return `pop, start, toInt64(net) AS prefix, arm, cong, carryover, control, conns, worth_of_eligible AS eligible,
least(worth_of_means, worth_of_eligible) AS rate_means, bytes,
rate_p05_bytes_per_s, rate_p10_bytes_per_s, rate_p20_bytes_per_s, rate_p50_bytes_per_s, rate_p80_bytes_per_s, min_rtt_us, srtt_us,
share_retrans AS retrans_share,
if(length(parts_rwnd) < 3, share_rwnd, arrayReduce('min', arrayPushBack(without_rwnd, share_rwnd))) AS rwnd_share,
if(length(parts_busy) < 3, share_busy, arrayReduce('max', arrayPushBack(without_busy, share_busy))) AS busy_share,
share_limited AS app_limited_share, log_rate_mean, log_rate_var, eligible_sent_bytes, eligible_retrans_bytes, capped,
log_goodput_mean, log_goodput_var, episodes, if(len_late = 0, toUInt32(0), least(worth_of_lates, worth_of_eligible)) AS late_conns,
late_p50_bytes_per_s, late_p95_bytes_per_s`
}
