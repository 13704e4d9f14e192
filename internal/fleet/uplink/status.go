package uplink

import "time"

// Status is an uplink's view of itself; counts are since its start.
type Status struct {
	Batches        uint64 `json:"batches"` // made
	Records        uint64 `json:"records"` // in them
	ThinnedRecords uint64 `json:"thinned_records"`
	LostBatches    uint64 `json:"lost_batches"` // the disk was too slow for them
	LostRecords    uint64 `json:"lost_records"`
	DroppedBatches uint64 `json:"dropped_batches"` // by the spool: at its bound, on a full disk, damaged
	DroppedRecords uint64 `json:"dropped_records"`
	SentBatches    uint64 `json:"sent_batches"` // and taken
	SentBytes      uint64 `json:"sent_bytes"`   // before compression, of those
	ResentBatches  uint64 `json:"resent_batches"`
	RefusedBatches uint64 `json:"refused_batches"`
	QueuedBatches  int    `json:"queued_batches"` // wait for the disk
	WaitingBatches int    `json:"waiting_batches"`
	WaitingBytes   int64  `json:"waiting_bytes"`
	// OldestS is how long the oldest batch in the spool has waited, in seconds, at most.
	OldestS float64 `json:"oldest_unsent_s"`
	Weight  int     `json:"weight"` // of the latest window's records: 1 is all of them
}

// Status returns it.
func (u *Uplink) Status() Status {
	u.mu.Lock()
	s := u.status
	s.Weight = 1 << u.thin.halvings
	u.mu.Unlock()
	s.QueuedBatches = len(u.queue)
	s.DroppedBatches, s.DroppedRecords = u.deps.Spool.Dropped()
	var since time.Time
	if s.WaitingBatches, s.WaitingBytes, since = u.deps.Spool.Waiting(); s.WaitingBatches > 0 {
		s.OldestS = time.Since(since).Seconds()
	}
	return s
}

// What can stop working, and begin again.
const (
	stateAway    = "the far side takes nothing, its batches wait in the spool"
	stateRefused = "the far side refuses batches, they are skipped"
	stateSpool   = "the spool does not take batches, they are dropped"
	stateRead    = "the spool cannot be read"
	stateEnds    = "ends of windows are lost"
	stateCursor  = "what is delivered is not kept, a restart sends it again"
)

// tell says that something stopped working or, with a nil error, that it works again. It says so once. The caller
// holds mu.
func (u *Uplink) tell(state string, err error) {
	if was := u.states[state]; was == (err != nil) {
		return
	}
	u.states[state] = err != nil
	if err == nil {
		u.deps.Tell("over: " + state)
		return
	}
	u.deps.Tell(state + ": " + err.Error())
}

func (u *Uplink) say(state string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tell(state, err)
}

func (u *Uplink) count(fn func(*Status)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	fn(&u.status)
}
