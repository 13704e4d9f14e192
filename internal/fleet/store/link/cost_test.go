package link

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/congctl/congctl/internal/answer/foreign"
	"github.com/congctl/congctl/internal/fleet/store/link/fleetv1"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
	"github.com/congctl/congctl/internal/loop/store/wire/wiretest"
)

// TestTexts: what a peer says of itself is cut where its message becomes a value.
func TestTexts(t *testing.T) {
	long := strings.Repeat("\x1b[2J\u202e\n", 60_000)
	h := have(&fleetv1.FollowRequest{CongctlVersion: long, Hash: long, Tier: long, PlanKeys: slices.Repeat([]string{long}, 100), Stop: []byte(long)})
	r := report(&fleetv1.ReportRequest{Hash: long, Refusal: long})
	refused := said("push batch", connect.NewError(connect.CodeInvalidArgument, errors.New(long)))
	failed := said("push batch", connect.NewError(connect.CodeUnavailable, errors.New(long)))
	if len(h.Keys) != maxKeys || len(h.Stop) != maxStop || !errors.Is(refused, ErrRefused) {
		t.Errorf("%d keys, a stop of %d bytes, %.40v", len(h.Keys), len(h.Stop), refused)
	}
	for name, text := range map[string]string{
		"version": h.Version, "hash": h.Hash, "tier": h.Tier, "key": h.Keys[15], "reported hash": r.Hash, "refusal": r.Refusal,
		"a controller's refusal": refused.Error(), "a controller's fault": failed.Error(),
	} {
		if len(text) > foreign.MaxText+len("push batch: refused: ") || foreign.Cut(text, len(text)) != text || len(text) < maxWord/2 {
			t.Errorf("%s: %d bytes, %.60q", name, len(text), text)
		}
	}
}

// TestCostOfRequests: of the largest messages that are let in, each field alone.
func TestCostOfRequests(t *testing.T) {
	const size = maxFollow - 1<<10
	long := strings.Repeat("\x1b", size)
	longer := strings.Repeat("\x1b", maxPush-1<<10)
	message := func(name string, m proto.Message) wiretest.Input {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return wiretest.Input{Name: name, Body: b}
	}
	inputs := []wiretest.Input{
		message("a version", &fleetv1.FollowRequest{CongctlVersion: long}),
		message("a stop", &fleetv1.FollowRequest{Stop: []byte(long)}),
		message("a key", &fleetv1.FollowRequest{PlanKeys: []string{long}}),
		message("keys of no byte", &fleetv1.FollowRequest{PlanKeys: make([]string, size/2)}),
	}
	wiretest.Door(t, inputs, wiretest.None, func(in wiretest.Input) error {
		var m fleetv1.FollowRequest
		err := proto.Unmarshal(in.Body, &m)
		_ = have(&m)
		return err
	})
	wiretest.Door(t, []wiretest.Input{message("a refusal", &fleetv1.ReportRequest{Refusal: longer}), message("a hash", &fleetv1.ReportRequest{Hash: longer})}, wiretest.None, func(in wiretest.Input) error {
		var m fleetv1.ReportRequest
		err := proto.Unmarshal(in.Body, &m)
		_ = report(&m)
		return err
	})
}

// TestLongOrder: a plan beyond what a host takes, some hundred bytes when packed, ends its stream. The controller knows how long it
// may be. (TestHostilePlans measures what that costs.)
func TestLongOrder(t *testing.T) {
	a, c := mtlstest.New(t), &controller{orders: make(chan Order, 1)}
	agent := client(t, serve(t, a, c, a.Issue(self)), a.Issue(host))
	c.orders <- Order{Stopped: true, Plan: bytes.Repeat([]byte{'x'}, 8<<20)}
	err := agent.Follow(t.Context(), Have{BBR: 3}, func(Order) { t.Error("an order came") })
	if err == nil || !strings.Contains(err.Error(), "plan.max") || len(err.Error()) > 200 {
		t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.have.PlanBytes != planBytes || c.have.BBR != 3 {
		t.Errorf("the controller was told %d bytes, BBR version %d", c.have.PlanBytes, c.have.BBR)
	}
}

// TestLongFollow: what is beyond is not decoded.
func TestLongFollow(t *testing.T) {
	a, c := mtlstest.New(t), &controller{orders: make(chan Order)}
	agent := client(t, serve(t, a, c, a.Issue(self)), a.Issue(host))
	err := agent.Follow(t.Context(), Have{Keys: make([]string, maxFollow)}, func(Order) { t.Error("an order came") })
	if !errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
}

// TestJSONIsRefused: in each of its names, unread, whatever is behind it.
func TestJSONIsRefused(t *testing.T) {
	_, h := NewHandler(&controller{})
	agent := Recognized(h, nil, host, nil)
	for _, kind := range []string{"application/json", "application/JSON; charset=utf-8", "application/connect+json", "application/grpc+json", "application/grpc-web+json"} {
		body := strings.NewReader(strings.Repeat("9", maxPush-1))
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, fleetv1.FleetPushProcedure, body)
		r.Header.Set("Content-Type", kind)
		agent.ServeHTTP(w, r)
		if w.Code != http.StatusUnsupportedMediaType || w.Body.Len() > 100 || body.Len() != maxPush-1 {
			t.Errorf("%s: %d, %d bytes answered, %d left unread", kind, w.Code, w.Body.Len(), body.Len())
		}
	}
}
