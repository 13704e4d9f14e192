package link

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
)

// lines takes what is logged.
type lines struct {
	mu   sync.Mutex // guards text
	text []string
}

func (l *lines) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, s)
}

func (l *lines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.text, "\n")
}

// TestLimited: a certificate has so many requests under way, another certificate still has all of its own, and what
// ended makes room.
func TestLimited(t *testing.T) {
	a, told := mtlstest.New(t), &lines{}
	hold, entered := make(chan struct{}), make(chan struct{}, 2*maxRequests)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { entered <- struct{}{}; <-hold })
	own := open(t, a.Issue(self))
	s := httptest.NewUnstartedServer(Watched(Authenticated(Limited(h), own, secrets{}), told.add))
	s.TLS, s.EnableHTTP2 = own.Server(), true
	s.StartTLS()
	t.Cleanup(s.Close)
	get := func(dial Dial) int {
		c := &http.Client{Transport: &http.Transport{DialTLSContext: dial, ForceAttemptHTTP2: true}}
		defer c.CloseIdleConnections()
		res, err := c.Get(s.URL)
		if err != nil {
			t.Error(err)
			return 0
		}
		res.Body.Close()
		return res.StatusCode
	}
	first, other := host, host
	other.Name = "edge-2"
	mine, theirs := open(t, a.Issue(first)).Dial, open(t, a.Issue(other)).Dial
	var all sync.WaitGroup
	held := func(dial Dial) {
		all.Go(func() {
			if code := get(dial); code != http.StatusOK {
				t.Errorf("answered %d", code)
			}
		})
		<-entered
	}
	for range maxRequests {
		held(mine)
	}
	if code := get(mine); code != http.StatusServiceUnavailable || !strings.Contains(told.all(), ": 503 Service Unavailable: it has 16 under way") {
		t.Errorf("one more: %d; told %q", code, told.all())
	}
	held(theirs)
	close(hold)
	all.Wait()
	held(mine)
	all.Wait()
}
