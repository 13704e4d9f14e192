package link

import (
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
)

// TestTrustEnds: what a caller was let in for is asked again at each request of an open connection, and of a stream that
// goes on: its certificate's time, its authority, and what is revoked.
func TestTrustEnds(t *testing.T) {
	ann := mtls.Identity{Role: mtls.Operator, Name: "ann"}
	soon := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(5 * time.Second) }
	as := func(*x509.Certificate) {}
	for name, c := range map[string]struct {
		edit func(*x509.Certificate)
		ends func(t *testing.T, own *mtls.Credentials, of mtls.Files)
		want string
	}{
		"it expires": {soon, func(*testing.T, *mtls.Credentials, mtls.Files) {}, "certificate of congctl://operator/ann: not trusted: it expired at "},
		"another authority": {as, func(t *testing.T, _ *mtls.Credentials, of mtls.Files) {
			if err := os.Rename(mtlstest.New(t).Issue(self).CA, of.CA); err != nil {
				t.Fatal(err)
			}
		}, "the present authority (fleet.ca of the controller) has not signed it"},
		"its name is revoked":          {as, func(_ *testing.T, own *mtls.Credentials, _ mtls.Files) { own.Revoke([]string{ann.String()}) }, "its name is revoked"},
		"its serial number is revoked": {as, func(_ *testing.T, own *mtls.Credentials, _ mtls.Files) { own.Revoke([]string{"3"}) }, "serial 3 is revoked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := mtlstest.New(t)
			own := open(t, a.Issue(self)) // serial 2
			mine := a.Issue(ann, c.edit)  // serial 3
			base := "https://" + holding(t, own, &lines{})
			h := &http.Client{Transport: &http.Transport{DialTLSContext: open(t, mine).Dial, ForceAttemptHTTP2: true}}
			t.Cleanup(h.CloseIdleConnections)
			stream, err := h.Get(base + "/wait")
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Body.Close()
			act := func() (int, string) {
				res, err := h.Post(base+"/act", "text/plain", strings.NewReader("done"))
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				b, _ := io.ReadAll(res.Body)
				return res.StatusCode, string(b)
			}
			if code, text := act(); code != http.StatusOK {
				t.Fatalf("while it is trusted: %d %s", code, text)
			}
			c.ends(t, own, mine)
			b, err := io.ReadAll(stream.Body) // until it is ended
			if err != nil || !strings.Contains(string(b), c.want) {
				t.Errorf("the stream: %q, %v", b, err)
			}
			if code, text := act(); code != http.StatusUnauthorized || !strings.Contains(text, c.want) || !strings.Contains(text, "issue ") {
				t.Errorf("the open connection: %d %s", code, text)
			}
		})
	}
}

// TestTokenEnds: a token that is removed ends what it began.
func TestTokenEnds(t *testing.T) {
	a, gone := mtlstest.New(t), &removable{}
	own := open(t, a.Issue(self))
	began := make(chan struct{})
	h := Authenticated(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { close(began); <-r.Context().Done() }), own, gone)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer good")
	done := make(chan struct{})
	go func() { defer close(done); h.ServeHTTP(nil, r) }()
	<-began
	gone.removed.Store(true)
	select {
	case <-done:
	case <-time.After(patience):
		t.Error("it goes on")
	}
}

// removable is a token until it is removed.
type removable struct{ removed atomic.Bool }

func (r *removable) Holder(string, time.Time) (mtls.Identity, error) {
	if r.removed.Load() {
		return mtls.Identity{}, errors.New("no such token")
	}
	return mtls.Identity{Role: mtls.Operator, Name: "script", Token: true}, nil
}
