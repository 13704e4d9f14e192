package vm

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// monitor speaks QEMU's protocol, QMP: a line of JSON for each command, answer and event
// (docs/interop/qmp-spec.txt).
type monitor struct {
	in  *bufio.Reader
	out io.Writer
}

// message is every possible message: the greeting has none of these fields.
type message struct {
	Event  string          `json:"event"`
	Return json.RawMessage `json:"return"`
	Error  *struct {
		Text string `json:"desc"`
	} `json:"error"`
}

func newMonitor(rw io.ReadWriter) *monitor { return &monitor{bufio.NewReader(rw), rw} }

// greet opens the conversation. QEMU answers when it has loaded its input.
func (m *monitor) greet() error {
	if _, err := m.next(); err != nil {
		return err
	}
	_, err := m.ask("qmp_capabilities", nil)
	return err
}

func (m *monitor) next() (got message, err error) {
	line, err := m.in.ReadBytes('\n')
	if err != nil {
		return got, fmt.Errorf("listen to QEMU: %w", err)
	}
	if err := json.Unmarshal(line, &got); err != nil {
		return got, fmt.Errorf("listen to QEMU: %w", err)
	}
	return got, nil
}

// await reads until an event comes.
func (m *monitor) await(event string) error {
	for {
		got, err := m.next()
		if err != nil || got.Event == event {
			return err
		}
	}
}

// ask sends a command and waits for its answer, past any event.
func (m *monitor) ask(command string, arguments map[string]string) (json.RawMessage, error) {
	request := map[string]any{"execute": command}
	if arguments != nil {
		request["arguments"] = arguments
	}
	if err := json.NewEncoder(m.out).Encode(request); err != nil {
		return nil, fmt.Errorf("ask QEMU to %s: %w", command, err)
	}
	for {
		got, err := m.next()
		switch {
		case err != nil:
			return nil, err
		case got.Error != nil:
			return nil, fmt.Errorf("ask QEMU to %s: %s", command, got.Error.Text)
		case got.Return != nil:
			return got.Return, nil
		}
	}
}

// save keeps the machine in its drive under snapshotName, by the command for people: it
// answers when all is done, and then with an empty text.
func (m *monitor) save() error {
	answer, err := m.ask("human-monitor-command", map[string]string{"command-line": "savevm " + snapshotName})
	if err != nil {
		return err
	}
	var text string
	if err := json.Unmarshal(answer, &text); err != nil {
		return fmt.Errorf("save machine: %w", err)
	}
	if text = strings.TrimSpace(text); text != "" {
		return fmt.Errorf("save machine: %w", errors.New(text))
	}
	return nil
}
