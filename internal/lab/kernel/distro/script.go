package distro

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// A script and its answer are one line each, in hexadecimal, so that no byte of theirs is
// mistaken for an end (tools/debian/overlay/usr/local/sbin/drive is the other side):
//
//	SCRIPT
//	CODE STDOUT- STDERR-

// Result is what became of a script.
type Result struct {
	Code           int // as the shell says it: 128 and the signal's number for a signal
	Stdout, Stderr string
}

// Do runs a script as root by bash and waits for its end.
func (r *Running) Do(script string) (Result, error) {
	if err := r.send(script); err != nil {
		return Result{}, err
	}
	line, err := r.line()
	if err != nil {
		return Result{}, fmt.Errorf("run %q: %w", script, err)
	}
	return parseResult(line)
}

func (r *Running) send(script string) error {
	if _, err := r.port.WriteString(hex.EncodeToString([]byte(script)) + "\n"); err != nil {
		return fmt.Errorf("send %q: %w", script, err)
	}
	return nil
}

func parseResult(line string) (res Result, err error) {
	fields := strings.Split(line, " ")
	if len(fields) != 3 {
		return res, fmt.Errorf("read answer: %d fields in %q, want 3", len(fields), line)
	}
	if res.Code, err = strconv.Atoi(fields[0]); err != nil {
		return Result{}, fmt.Errorf("read answer: %w", err)
	}
	for i, to := range []*string{&res.Stdout, &res.Stderr} {
		text, whole := strings.CutSuffix(fields[i+1], "-")
		b, err := hex.DecodeString(text)
		if !whole || err != nil {
			return Result{}, fmt.Errorf("read answer: output %d is broken: %q", i+1, fields[i+1])
		}
		*to = string(b)
	}
	return res, nil
}
