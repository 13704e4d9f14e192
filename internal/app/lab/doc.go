// Package lab runs a scenario: each cell with each seed in a [World], several at
// once, one on each host CPU; keeps every finished run at once; stops when the
// intervals are narrow enough, the budget is spent or somebody asks. Days of a point of
// presence are run the same way: each policy with each seed in a [DayWorld].
//
// It knows neither QEMU nor network namespaces, judges nothing (core/outcome does)
// and writes no report (app/lab/report does).
//
// Its trap: what a run saw must not depend on when or beside what it ran. Only
// [Facts] may, and they never reach a result file.
package lab
