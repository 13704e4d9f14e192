package commitlog

import (
	"bytes"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
)

// TestHalt: a stop is believed of the controller that it names alone, for its PoP, and as it was signed.
func TestHalt(t *testing.T) {
	authority := mtlstest.New(t)
	open := func(a *mtlstest.Authority, id mtls.Identity) Signer {
		c, err := mtls.Open(a.Issue(id), func(error) {})
		check(t, err)
		return c
	}
	one := open(authority, mtls.Identity{Role: mtls.Controller, Name: "one"})
	two := open(authority, mtls.Identity{Role: mtls.Controller, Name: "two"})
	agent := open(authority, mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: "one"})
	h := Halt{PoP: "chi", ID: "x", By: "ann", Controller: "one", At: time.Now().Unix()}
	sign := func(h Halt, s Signer) []byte {
		text, err := h.Sign(s)
		check(t, err)
		return text
	}
	good := sign(h, one)
	if got, err := ReadHalt(good, "chi", two); err != nil || got != h {
		t.Fatalf("%+v, %v", got, err)
	}
	nameless, old := h, h
	nameless.ID, old.At = "", h.At-86400*365
	for what, text := range map[string][]byte{
		"nothing": nil, "no signature": []byte("{}\n{}"), "cut off": good[:len(good)-1], "changed": bytes.Replace(good, []byte(`"by":"ann"`), []byte(`"by":"bob"`), 1),
		"an agent's": sign(h, agent), "another controller's": sign(h, two), "another authority's": sign(h, open(mtlstest.New(t), mtls.Identity{Role: mtls.Controller, Name: "one"})),
		"without an id": sign(nameless, one), "of before the certificate": sign(old, one),
	} {
		if got, err := ReadHalt(text, "chi", two); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if _, err := ReadHalt(good, "ams", two); err == nil {
		t.Error("another PoP's")
	}
	if _, err := decode(good, "chi", two); err == nil {
		t.Error("a stop is an entry of the log")
	}
}
