package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/congctl/congctl/internal/fleet/store/link/fleetv1"
)

// Client is an agent's side. Several goroutines may use it.
type Client struct {
	rpc     fleetv1.FleetClient
	timeout time.Duration
}

// Dial makes a connection, as [mtls.Credentials.Dial] does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// NewClient makes a client of a controller at base, as https://controller:9477. Each request ends
// within timeout; following has no end, but a controller that is silent for three times timeout is
// asked whether it is there.
func NewClient(base string, dial Dial, timeout time.Duration) *Client {
	h := &http.Client{Transport: &http.Transport{
		DialTLSContext: dial, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 3 * timeout, PingTimeout: timeout},
	}}
	return &Client{timeout: timeout, rpc: fleetv1.NewFleetClient(h, base, connect.WithReadMaxBytes(maxOrder),
		connect.WithAcceptCompression(zstdName, newDecoder, newEncoder), connect.WithSendCompression(zstdName), connect.WithCompressMinBytes(minPacked))}
}

// Send pushes one batch behind its length. An [ErrRefused] means that it must not be sent again.
func (c *Client) Send(ctx context.Context, frame []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	_, err := c.rpc.Push(ctx, &fleetv1.PushRequest{Frames: frame})
	return said("push batch", err)
}

// Report sends the outcome of an order to the controller.
func (c *Client) Report(ctx context.Context, r Report) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	_, err := c.rpc.Report(ctx, r.message())
	return said("report", err)
}

// Follow calls each with every order, until ctx ends or the stream does, which is an error.
func (c *Client) Follow(ctx context.Context, h Have, each func(Order)) error {
	stream, err := c.rpc.Follow(ctx, h.message())
	if err != nil {
		return said("follow", err)
	}
	defer stream.Close()
	for stream.Receive() {
		m := stream.Msg()
		each(Order{Stopped: m.Stopped, Evict: m.Evict, Plan: m.Plan})
	}
	if err := stream.Err(); err != nil {
		return said("follow", err)
	}
	return errors.New("follow: the controller ended the stream")
}

// said is an error of a request in our words.
func said(doing string, err error) error {
	if err == nil {
		return nil
	}
	var e *connect.Error
	if errors.As(err, &e) {
		if e.Code() == connect.CodeInvalidArgument || e.Code() == connect.CodeResourceExhausted {
			return fmt.Errorf("%s: %w: %s", doing, ErrRefused, e.Message())
		}
		return fmt.Errorf("%s: %s", doing, e.Message())
	}
	return fmt.Errorf("%s: %w", doing, err)
}
