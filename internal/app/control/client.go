package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"syscall"
)

// Client asks the server on a unix socket. It holds no connection between calls
// longer than the server does, and may be used by several goroutines.
type Client struct {
	path string
	http *http.Client
}

// NewClient makes a client; nothing is dialled before the first question.
func NewClient(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	return &Client{path: path, http: &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConns: 1}}}
}

// Close drops the idle connection.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

func (c *Client) call(ctx context.Context, name string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("ask %s: %w", name, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://congctl"+pathHead+name, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask %s: %w", name, err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return c.explain(name, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return readError(res)
	}
	// Unknown fields pass: an answer of a newer server stays readable.
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return fmt.Errorf("read answer of %s: %w", name, err)
	}
	return nil
}

// explain says what a refused connection means here.
func (c *Client) explain(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("connect to %s: %w", c.path, ErrNotRunning)
	case errors.Is(err, fs.ErrPermission):
		return &Error{Text: fmt.Sprintf("connect to %s: permission denied", c.path),
			Hint: "use sudo, or join the group of the socket (`socket_group`)", Code: Unavailable}
	}
	return fmt.Errorf("ask %s: %w", name, err)
}

func readError(res *http.Response) error {
	var e Error
	if err := json.NewDecoder(res.Body).Decode(&e); err != nil || e.Text == "" {
		return &Error{Text: "answered " + res.Status, Hint: "is this congctl's socket?", Code: Internal}
	}
	return &e
}
