// Package lab runs a scenario: each cell with each seed in a [World], several at once, one
// on each host CPU; keeps every finished run at once; stops when the intervals are narrow
// enough, the budget is spent or on request. Days of a point of presence run the same way:
// each policy with each seed in a [DayWorld].
//
// It knows neither QEMU nor network namespaces, judges nothing (lab/outcome does)
// and writes no report (lab/report does).
//
// Its trap: a run's result must not depend on when or beside what it ran. Only [Facts]
// may, and they never reach a result file.
package lab
