package sqlite

import "github.com/congctl/congctl/internal/loop/journal"

// The words of the journal, under the names that they have as tables here.
type (
	Commit = journal.Commit
	Round  = journal.Round
	Event  = journal.Event
	Plan   = journal.PlanFile
	Head   = journal.Head
	Before = journal.Before
)
