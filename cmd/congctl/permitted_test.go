package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/control"
)

// holders are tokens by their secrets.
type holders map[string]mtls.Identity

func (h holders) Holder(secret string, _ time.Time) (mtls.Identity, error) {
	if id, ok := h[secret]; ok {
		return id, nil
	}
	return mtls.Identity{}, errors.New("no such token")
}

// TestPermitted: what each role may do at a PoP, and that what it tries and may not is audited.
func TestPermitted(t *testing.T) {
	var acts []string
	h := control.NewHandler(slog.New(slog.DiscardHandler), func(ctx context.Context) string { return link.Caller(ctx).String() })
	done := func(context.Context, control.None) (control.None, error) { return control.None{}, nil }
	control.Handle(h, control.Query[control.None, control.None]{Name: "see"}, done)
	control.Handle(h, control.Query[control.None, control.None]{Name: "act", Acts: true}, done)
	h.Audit(func(_ context.Context, a control.Act) {
		word := "done"
		if a.Err != nil {
			word = "refused"
		}
		acts = append(acts, a.Name+" by "+a.By+": "+word)
	})
	token := func(role mtls.Role, pop string) mtls.Identity {
		return mtls.Identity{Role: role, PoP: pop, Name: "x", Token: true}
	}
	handler := link.Authenticated(permitted("chi", h), nil, holders{
		"operator": token(mtls.Operator, ""), "viewer": token(mtls.Viewer, ""), "operator of chi": token(mtls.Operator, "chi"), "viewer of chi": token(mtls.Viewer, "chi"),
		"operator of ams": token(mtls.Operator, "ams"), "viewer of ams": token(mtls.Viewer, "ams"), "agent": token(mtls.Agent, "chi"), "controller": token(mtls.Controller, ""),
	})
	for _, c := range []struct {
		secret   string
		see, act int
		audit    string
	}{
		{"operator", 200, 200, "done"}, {"viewer", 200, 403, "refused"}, {"operator of chi", 200, 200, "done"}, {"viewer of chi", 200, 403, "refused"},
		{"operator of ams", 403, 403, "refused"}, {"viewer of ams", 403, 403, "refused"}, {"agent", 403, 403, "refused"}, {"controller", 403, 403, "refused"},
		{"unknown", 401, 401, ""},
	} {
		acts = nil
		for path, want := range map[string]int{"/v1/see": c.see, "/v1/act": c.act} {
			r := httptest.NewRequest(http.MethodPost, path, nil)
			r.Header.Set("Authorization", "Bearer "+c.secret)
			w := httptest.NewRecorder()
			if handler.ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s at %s: %d, want %d: %s", c.secret, path, w.Code, want, w.Body)
			}
		}
		if c.audit == "" && len(acts) != 0 || c.audit != "" && (len(acts) != 1 || acts[0] != "act by token x: "+c.audit) {
			t.Errorf("%s: audited %q", c.secret, acts)
		}
	}
}
