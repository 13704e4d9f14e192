package link

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"github.com/congctl/congctl/internal/fleet/store/link/fleetv1"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
)

// Handler is the controller's side. from is an agent's: others are refused before.
type Handler interface {
	// Push stores batches, each behind its length. An [ErrRefused] tells the agent never to send
	// them again; after any other error it does.
	Push(ctx context.Context, from mtls.Identity, frames []byte) error
	// Follow sends orders until ctx ends or send fails.
	Follow(ctx context.Context, from mtls.Identity, h Have, send func(Order) error) error
	Report(ctx context.Context, from mtls.Identity, r Report) error
}

// ErrRefused is what cannot become right by sending it again.
var ErrRefused = errors.New("refused")

// NewHandler returns the service's path and its handler.
func NewHandler(h Handler) (string, http.Handler) {
	path, inner := fleetv1.NewFleetHandler(service{h}, connect.WithReadMaxBytes(maxPush), connect.WithConditionalHandlerOptions(follows),
		unpacking(maxPush), connect.WithCompressMinBytes(minPacked), connect.WithRecover(recovered))
	return path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := agentOf(r.Context()); err != nil { // before anything of it is read
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		if strings.Contains(strings.ToLower(r.Header.Get("Content-Type")), "json") { // no agent sends it, and its decoder's refusals quote all that it read
			http.Error(w, "JSON is not taken here, only protobuf", http.StatusUnsupportedMediaType)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// follows has a limit for requests that have lists: a push's would be a million keys of no byte.
func follows(s connect.Spec) []connect.HandlerOption {
	if s.Procedure == fleetv1.FleetFollowProcedure {
		return []connect.HandlerOption{connect.WithReadMaxBytes(maxFollow)}
	}
	return nil
}

// recovered keeps a fault of one request from ending the others, and tells no caller of it.
func recovered(context.Context, connect.Spec, http.Header, any) error {
	return connect.NewError(connect.CodeInternal, errors.New("handle request: a fault of the controller"))
}

type service struct{ h Handler }

func (s service) Push(ctx context.Context, m *fleetv1.PushRequest) (*fleetv1.PushResponse, error) {
	from, err := agentOf(ctx)
	if err == nil {
		err = coded(ctx, s.h.Push(ctx, from, m.Frames))
	}
	return &fleetv1.PushResponse{}, err
}

func (s service) Follow(ctx context.Context, m *fleetv1.FollowRequest, to *connect.ServerStream[fleetv1.Order]) error {
	from, err := agentOf(ctx)
	if err != nil {
		return err
	}
	err = s.h.Follow(ctx, from, have(m), func(o Order) error {
		return to.Send(o.message())
	})
	if why, ok := errors.AsType[ended](context.Cause(ctx)); ok {
		return connect.NewError(connect.CodeUnauthenticated, why)
	}
	return coded(ctx, err)
}

func (s service) Report(ctx context.Context, m *fleetv1.ReportRequest) (*fleetv1.ReportResponse, error) {
	from, err := agentOf(ctx)
	if err == nil {
		err = coded(ctx, s.h.Report(ctx, from, report(m)))
	}
	return &fleetv1.ReportResponse{}, err
}

// coded gives an error the code by which the other side tells what to send again.
func coded(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	Because(ctx, err)
	if errors.Is(err, ErrRefused) {
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	return connect.NewError(connect.CodeUnavailable, err)
}

func agentOf(ctx context.Context) (mtls.Identity, error) {
	id := Caller(ctx)
	if id.Role != mtls.Agent {
		return id, connect.NewError(connect.CodePermissionDenied, errors.New(id.String()+" is no agent"))
	}
	return id, nil
}
