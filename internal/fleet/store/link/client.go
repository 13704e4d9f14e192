package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/congctl/congctl/internal/answer/foreign"
	"github.com/congctl/congctl/internal/fleet/store/link/fleetv1"
)

// Client is an agent's side. Several goroutines may use it, of which one follows.
type Client struct {
	peers   []peer
	at      atomic.Int32 // the peer that sent the last order
	first   int          // the peer that Follow asks first
	timeout time.Duration
	plan    int // bytes: the longest that it takes
}

// peer is one controller.
type peer struct {
	base string
	rpc  fleetv1.FleetClient
}

// mostInFlight bytes of a stream are what net/http takes at most.
const mostInFlight = 4<<20 - 1

// Dial makes a connection, as [mtls.Credentials.Dial] does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// NewClient makes a client of controllers at bases, as https://controller:9477, of which one answers for this host's
// PoP. Each request ends within timeout; following has no end, but a controller that is silent for three times
// timeout is asked whether it is there. A plan of more than planBytes ends the stream before it is read: a controller
// knows of it, and sends the rest of such an order.
func NewClient(bases []string, dial Dial, timeout time.Duration, planBytes int) *Client {
	return newClient(bases, dial, timeout, planBytes, packing(planBytes+besidePlan))
}

func newClient(bases []string, dial Dial, timeout time.Duration, planBytes int, packing connect.ClientOption) *Client {
	most := planBytes + besidePlan
	h := &http.Client{Transport: shortOnes{most: most, RoundTripper: &http.Transport{
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, done := context.WithTimeout(ctx, timeout) // a process that is stopped takes connections
			defer done()
			return dial(ctx, network, address)
		},
		ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 3 * timeout, PingTimeout: timeout, MaxReceiveBufferPerStream: min(most, mostInFlight)},
	}}}
	c := &Client{timeout: timeout, plan: planBytes}
	for _, base := range bases {
		c.peers = append(c.peers, peer{base, fleetv1.NewFleetClient(h, base, connect.WithReadMaxBytes(most),
			packing, connect.WithCompressMinBytes(minPacked))})
	}
	return c
}

func (c *Client) peer() peer { return c.peers[c.at.Load()] }

// Send pushes one batch behind its length. An [ErrRefused] means that it must not be sent again.
func (c *Client) Send(ctx context.Context, frame []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	_, err := c.peer().rpc.Push(ctx, &fleetv1.PushRequest{Frames: frame})
	return said("push batch", err)
}

// Report sends the outcome of an order to the controller.
func (c *Client) Report(ctx context.Context, r Report) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	_, err := c.peer().rpc.Report(ctx, r.message())
	return said("report", err)
}

// Follow calls each with every order, until ctx ends or the stream does, which is an error. It asks one controller
// after the other, from the one that sent orders last on, until one sends orders. A controller that sent orders and then
// ends the stream itself never had the PoP, has given it up, or is stopping: the next call starts with the one after it.
// Send and Report go to the controller that sent the last order.
func (c *Client) Follow(ctx context.Context, h Have, each func(Order)) error {
	h.PlanBytes = c.plan
	var away []string
	for range c.peers {
		at := c.first
		p := c.peers[at]
		began, err := p.follow(ctx, h, func(o Order) { c.at.Store(int32(at)); each(o) })
		if ctx.Err() == nil && (!began || connect.IsWireError(err)) {
			c.first = (at + 1) % len(c.peers)
		}
		if err = said("follow", err); began || len(c.peers) == 1 || ctx.Err() != nil {
			return err
		}
		away = append(away, fmt.Sprintf("%s: %s", p.base, err))
	}
	return errors.New(strings.Join(away, "; "))
}

// follow reports whether an order came.
func (p peer) follow(ctx context.Context, h Have, each func(Order)) (began bool, err error) {
	most := h.PlanBytes + besidePlan
	ctx, end := context.WithCancel(ctx)
	defer end()
	stream, err := p.rpc.Follow(ctx, h.message())
	if err != nil {
		return false, err
	}
	defer stream.Close()
	defer end() // first: Close reads what may still come
	for stream.Receive() {
		m := stream.Msg()
		began = true
		each(orderOf(m))
	}
	switch err := stream.Err(); {
	case errors.Is(err, errTooLong):
		return began, fmt.Errorf("the controller sent an order of more than %d bytes, the most that this host's plan.max allows", most)
	case err != nil:
		return began, err
	}
	return began, errors.New("the controller ended the stream")
}

// said is an error of a request in our words.
func said(doing string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*connect.Error](err); ok {
		text := foreign.Cut(e.Message(), foreign.MaxText) // the other side's
		if e.Code() == connect.CodeInvalidArgument || e.Code() == connect.CodeResourceExhausted {
			return fmt.Errorf("%s: %w: %s", doing, ErrRefused, text)
		}
		return fmt.Errorf("%s: %s", doing, text)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
