package popday

// Files of a run's folder.
const (
	FactsFile     = "facts.json"
	ResponsesFile = "responses.jsonl.gz"
	StoreFile     = "store.sqlite"
	EmptiedFile   = "emptied.sqlite" // the store that the fault empty_store removed last
	RecordsFile   = "records.pb"     // the records files, one behind the other, where the day's configuration has them
	LogFile       = "congctl.log"
	DayFile       = "scenario.yml" // the day's text, with the manifest
)
