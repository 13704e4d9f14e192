package link

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
)

// Certificates returns the holder of a certificate that is trusted at a moment.
type Certificates interface {
	Trust(chain []*x509.Certificate, now time.Time) (mtls.Identity, error)
}

// Tokens knows the holders of tokens.
type Tokens interface {
	Holder(secret string, now time.Time) (mtls.Identity, error)
}

// ErrUnknown is a caller that shows nothing by which it can be known.
var ErrUnknown = errors.New("no certificate of the fleet's authority, and no valid token in the header Authorization: Bearer")

// Identify returns whose a request is: the holder of the certificate, which is judged again each time, else of the
// token in its header. An address, which ends in logs and histories, is not looked at.
func Identify(r *http.Request, c Certificates, t Tokens, now time.Time) (mtls.Identity, error) {
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		return c.Trust(r.TLS.PeerCertificates, now)
	}
	return holder(r, t, now)
}

func holder(r *http.Request, t Tokens, now time.Time) (mtls.Identity, error) {
	secret, _ := bearer(r)
	if secret == "" {
		return mtls.Identity{}, ErrUnknown
	}
	id, err := t.Holder(secret, now)
	if err != nil {
		return mtls.Identity{}, errors.Join(ErrUnknown, err)
	}
	return id, nil
}

// bearer returns the token in a request's header; a password of a proxy in front is none.
func bearer(r *http.Request) (secret string, shown bool) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return secret, true
}

type identityKey struct{}

// Authenticated is h for callers that Identify knows, for as long as it does; it passes the identity on.
func Authenticated(h http.Handler, c Certificates, t Tokens) http.Handler {
	return authenticated(h, func(r *http.Request, now time.Time) (mtls.Identity, error) { return Identify(r, c, t, now) }, func(*http.Request, error) {})
}

// Held is h for holders of tokens alone; refused takes the others.
func Held(h http.Handler, t Tokens, refused func(*http.Request, error)) http.Handler {
	return authenticated(h, func(r *http.Request, now time.Time) (mtls.Identity, error) { return holder(r, t, now) }, refused)
}

func authenticated(h http.Handler, identify func(*http.Request, time.Time) (mtls.Identity, error), refused func(*http.Request, error)) http.Handler {
	live := &underWay{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := identify(r, time.Now())
		if err != nil {
			refused(r, err)
			turnAway(w, r, err)
			return
		}
		settled(r.Context())
		ctx, leave := live.enter(context.WithValue(r.Context(), identityKey{}, id), func(now time.Time) error {
			_, err := identify(r, now)
			return err
		})
		defer leave()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Recognized is h for all callers: one without a token is stranger. A token that is not valid is refused,
// so that its holder learns of it; refused takes that, too.
func Recognized(h http.Handler, t Tokens, stranger mtls.Identity, refused func(*http.Request, error)) http.Handler {
	known := Held(h, t, refused)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, shown := bearer(r); shown {
			known.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), identityKey{}, stranger)))
	})
}

// awayWait is how long what a refused caller goes on sending is read: a connection that is closed under an honest one
// would lose it the answer.
const awayWait = time.Second

// turnAway answers a caller that is not known, first, and then ends its connection, whatever it still sends.
func turnAway(w http.ResponseWriter, r *http.Request, err error) {
	Because(r.Context(), err)
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(awayWait))
	if errors.Is(err, ErrUnknown) || errors.Is(err, mtls.ErrUntrusted) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(w, http.StatusUnauthorized, "unauthorized", err)
		return
	}
	refuse(w, http.StatusForbidden, "forbidden", err)
}

// refuse answers as loop/control does, whose clients read it.
func refuse(w http.ResponseWriter, status int, code string, err error) {
	b, _ := json.Marshal(map[string]string{"error": strings.ReplaceAll(err.Error(), "\n", ": "), "code": code}) // only text: it always encodes
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // the peer may have left
}

// Caller returns the identity behind a request of an authenticated handler.
func Caller(ctx context.Context) mtls.Identity {
	id, _ := ctx.Value(identityKey{}).(mtls.Identity)
	return id
}
