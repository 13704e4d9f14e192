package commitlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/tcp/record"
)

// An entry of the log is two lines of JSON: who signed, and what. A new field needs no care, since readers skip
// those that they do not know; a field never changes its meaning.

// entry is one commit, or a controller's word that it has taken the PoP.
type entry struct {
	PoP string `json:"pop"`
	By  string `json:"by"` // the controller's name
	At  int64  `json:"at_unix_s"`
	// Generation of the owner: the offset of the entry by which it took the PoP, so that a later owner's is higher.
	// 0 in that entry itself.
	Generation int64 `json:"generation"`
	Sequence   int64 `json:"sequence"` // of the PoP's commits, 1 is the first; 0: no commit
	commit
}

// commit is a journal.Commit as the log has it.
type commit struct {
	Closed   bool                `json:"closed,omitempty"`
	Start    int64               `json:"start,omitempty"`
	Rows     []row               `json:"rows,omitempty"`
	Notes    []record.WindowNote `json:"notes,omitempty"`
	Round    *journal.Round      `json:"round,omitempty"`
	Memory   string              `json:"selection,omitempty"` // of Round, to the byte
	Events   []journal.Event     `json:"events,omitempty"`
	Plan     *journal.PlanFile   `json:"plan,omitempty"`
	Settings map[string][]byte   `json:"settings,omitempty"` // null: deleted
}

// row is a window's row with its arm as a number: as a text it could not be read back.
type row struct {
	record.Window
	Arm uint8
}

func commitOf(c *journal.Commit) commit {
	out := commit{Closed: c.Closed, Start: c.Start, Notes: c.Notes, Round: c.Round, Events: c.Events, Plan: c.Plan, Settings: c.Settings}
	for i := range c.Rows {
		out.Rows = append(out.Rows, row{c.Rows[i], uint8(c.Rows[i].Arm)})
	}
	if c.Round != nil {
		out.Memory = string(c.Round.SelectionJSON)
	}
	return out
}

func (c *commit) journal() *journal.Commit {
	out := &journal.Commit{Closed: c.Closed, Start: c.Start, Notes: c.Notes, Round: c.Round, Events: c.Events, Plan: c.Plan, Settings: c.Settings}
	for _, r := range c.Rows {
		r.Window.Arm = record.Arm(r.Arm)
		out.Rows = append(out.Rows, r.Window)
	}
	if c.Round != nil {
		c.Round.SelectionJSON = []byte(c.Memory)
	}
	return out
}

// proof is the first line: a signature of the second, and the signer's certificate first, in DER.
type proof struct {
	Signature []byte   `json:"signature"`
	Chain     [][]byte `json:"certificates"`
}

// Signer signs as this controller, and tells who signed. Credentials of mtls are one.
type Signer interface {
	Sign(purpose mtls.Purpose, message []byte) (signature []byte, chain [][]byte, err error)
	Verify(purpose mtls.Purpose, message, signature []byte, chain [][]byte, at time.Time) (mtls.Identity, error)
}

// signed refuses what the other controllers would: with a clock that is wrong its commits would be lost to them.
func (e *entry) signed(s Signer) ([]byte, error) {
	message, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode commit: %w", err)
	}
	body, p, err := seal(s, mtls.Commit, message)
	if err != nil {
		return nil, err
	}
	return body, e.believe(message, p, s)
}

// seal puts a signature before a message.
func seal(s Signer, purpose mtls.Purpose, message []byte) (body []byte, p proof, err error) {
	if p.Signature, p.Chain, err = s.Sign(purpose, message); err != nil {
		return nil, p, err
	}
	head, err := json.Marshal(p)
	return append(append(head, '\n'), message...), p, err
}

// unseal separates them, and checks nothing.
func unseal(body []byte) (p proof, message []byte, err error) {
	head, message, ok := bytes.Cut(body, []byte("\n"))
	if !ok {
		return p, nil, errors.New("no signature")
	}
	if err := json.Unmarshal(head, &p); err != nil {
		return p, nil, fmt.Errorf("read signature: %w", err)
	}
	return p, message, nil
}

// by checks that a controller signed message, when its certificate was valid.
func (p proof) by(s Signer, purpose mtls.Purpose, message []byte, controller string, at int64) error {
	from, err := s.Verify(purpose, message, p.Signature, p.Chain, time.Unix(at, 0))
	if err == nil && from != (mtls.Identity{Role: mtls.Controller, Name: controller}) {
		err = fmt.Errorf("it names controller %q and %s signed it", controller, from)
	}
	return err
}

// decode reads an entry whose signature is right.
func decode(body []byte, pop string, s Signer) (*entry, error) {
	p, message, err := unseal(body)
	if err != nil {
		return nil, fmt.Errorf("read entry of the log: %w", err)
	}
	e := &entry{}
	if err := json.Unmarshal(message, e); err != nil {
		return nil, fmt.Errorf("read entry of the log: %w", err)
	}
	if err := e.believe(message, p, s); err != nil {
		return nil, err
	}
	if e.PoP != pop {
		return nil, fmt.Errorf("believe entry of the log: it is of pop %q, not %q", e.PoP, pop)
	}
	return e, nil
}

// believe checks that the controller that e names signed message, when its certificate was valid.
func (e *entry) believe(message []byte, p proof, s Signer) error {
	if err := p.by(s, mtls.Commit, message, e.By, e.At); err != nil {
		return fmt.Errorf("believe entry of the log: %w", err)
	}
	return nil
}
