package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Memory is what a round leaves behind that its windows cannot tell again. It is
// stored with each round, and Replay takes it.
type Memory struct {
	Selected []Selected
	Cooling  []Cooling
	Stopped  bool // by the kill switch: nothing was decided, nobody was told anything
}

// Memory of a decision.
func (d Decision) Memory() Memory { return Memory{d.Selection, d.Cooling, d.Stopped} }

// memoryJSON is a Memory as JSON; a list alone is one with nothing else to tell, and
// what was stored before there was anything else.
type memoryJSON struct {
	Selected []Selected `json:"selected"`
	Cooling  []Cooling  `json:"cooling"`
	Stopped  bool       `json:"stopped,omitempty"`
}

// MarshalJSON writes a list of the selected, or an object.
func (m Memory) MarshalJSON() ([]byte, error) {
	if len(m.Cooling) == 0 && !m.Stopped {
		return json.Marshal(m.Selected)
	}
	return json.Marshal(memoryJSON(m))
}

// UnmarshalJSON reads what MarshalJSON wrote; on an error m stays.
func (m *Memory) UnmarshalJSON(b []byte) error {
	var v memoryJSON
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) {
		err = json.Unmarshal(b, &v.Selected)
	} else {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		return fmt.Errorf("read memory of a round: %w", err)
	}
	*m = Memory(v)
	return nil
}
