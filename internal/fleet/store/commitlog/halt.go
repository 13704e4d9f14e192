package commitlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
)

// Halt is a stop that no log has yet, as agents carry it to the controller that has the log next. It is signed, so that no
// agent can make one up.
type Halt struct {
	PoP        string `json:"pop"`
	ID         string `json:"id"`         // of the operator's request: other controllers that took it name the same
	By         string `json:"by"`         // the operator
	Controller string `json:"controller"` // that took it
	At         int64  `json:"at_unix_s"`
}

// String names who stopped, for events.
func (h Halt) String() string {
	return fmt.Sprintf("%s, who asked controller %s at %s, while that could not store it", h.By, h.Controller, time.Unix(h.At, 0).UTC().Format(time.RFC3339))
}

// Sign writes it as the controller that it names.
func (h Halt) Sign(s Signer) ([]byte, error) {
	message, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode stop: %w", err)
	}
	body, _, err := seal(s, mtls.Halt, message)
	return body, err
}

// ReadHalt reads one of this PoP whose signature is right.
func ReadHalt(body []byte, pop string, s Signer) (h Halt, err error) {
	p, message, err := unseal(body)
	if err != nil {
		return h, fmt.Errorf("read stop: %w", err)
	}
	if err := json.Unmarshal(message, &h); err != nil {
		return h, fmt.Errorf("read stop: %w", err)
	}
	if err = p.by(s, mtls.Halt, message, h.Controller, h.At); err == nil && (h.PoP != pop || h.ID == "") {
		err = errors.New("it is of another pop, or has no id")
	}
	if err != nil {
		return Halt{}, fmt.Errorf("believe stop: %w", err)
	}
	return h, nil
}
