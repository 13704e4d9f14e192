package qdisc

import (
	"errors"
	"maps"
	"slices"
	"testing"
)

// What a link sent through, whoever put it there, is there again when ours has gone.
func TestBringBack(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		if name == "police" {
			continue // of what comes in
		}
		t.Run(name, func(t *testing.T) {
			c, link := inNamespace(t)
			err := c.Replace(At{link, Root, Handle(7)}, specs[name])
			if errors.Is(err, ErrUnknown) {
				t.Skipf("needs %s in the kernel: %v; minimum kernel 5.3", name, err)
			}
			if err != nil {
				t.Fatal(err)
			}
			putOursAndBringBack(t, c, link)
		})
	}
}

// The kernel's own qdisc comes back by taking ours away.
func TestBringBackDefault(t *testing.T) {
	c, link := inNamespace(t)
	putOursAndBringBack(t, c, link)
}

func TestBringBackBelow(t *testing.T) {
	c, link := inNamespace(t)
	root := At{link, Root, Handle(1)}
	if err := errors.Join(c.Add(root, specs["tbf"]), c.Add(At{link, Child(root.Handle), Handle(2)}, Pfifo{3})); err != nil {
		t.Fatal(err)
	}
	putOursAndBringBack(t, c, link)
}

func putOursAndBringBack(t *testing.T, c *Conn, link int) {
	t.Helper()
	before, err := c.Save(link)
	if err != nil {
		t.Fatal(err)
	}
	ours := Tbf{RateBytesPerS: 1e6, BurstBytes: 3028, LimitBytes: 100_000}
	if err := c.Replace(At{link, Root, Handle(0xc0c7)}, ours); err != nil {
		t.Fatal(err)
	}
	got, err := c.Get(link, Handle(0xc0c7))
	if err != nil {
		t.Fatal(err)
	}
	if read, err := ReadTbf(got.Options); err != nil || read != ours {
		t.Errorf("read %+v, %v, want %+v", read, err, ours)
	}
	if err := c.Bring(link, before); err != nil {
		t.Fatal(err)
	}
	if after, err := c.Save(link); err != nil || !Equal(after, before) {
		t.Errorf("before %s\nafter  %s, %v", Text(before), Text(after), err)
	}
}
