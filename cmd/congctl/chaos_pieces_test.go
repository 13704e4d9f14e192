package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bad is what may happen, each as often as another.
var bad = []struct {
	name  string
	room  bool // only on a disk that has room
	clock bool // only where the clock is ours
	do    func(c *chaos)
}{
	{name: "kill -9", do: func(c *chaos) { c.e.kill(); c.isDown("killed"); c.start() }},
	{name: "SIGTERM", do: func(c *chaos) { c.e.stop(); c.isDown("ended"); c.start() }},
	{name: "kill -9 of a start", do: (*chaos).killStart},
	{name: "kill -9 at any moment", do: func(c *chaos) { c.some(windowSeconds * time.Second); c.e.kill(); c.start() }},
	{name: "SIGSTOP beyond the expiry", do: (*chaos).sleep},
	{name: "stop", do: func(c *chaos) { c.promise("stop") }},
	{name: "stop --evict", do: func(c *chaos) { c.promise("stop", "--evict") }},
	{name: "stop --force", room: true, do: func(c *chaos) { c.promise("stop", "--force"); c.e.ended(); c.isDown("ended by force"); c.start() }},
	{name: "stop while down", room: true, do: func(c *chaos) { c.e.kill(); c.promise("stop"); c.start() }},
	{name: "resume", do: func(c *chaos) { c.promise("resume") }},
	{name: "resume after a restart", do: func(c *chaos) { c.e.kill(); c.start(); c.promise("resume") }},
	{name: "reload", do: func(c *chaos) { c.list(1 + c.rnd.IntN(mostListed)); c.reload() }},
	{name: "reload of nonsense", do: (*chaos).reloadNonsense},
	{name: "full disk", room: true, do: func(c *chaos) {
		c.free = fill(c, filepath.Join(c.e.dir, "state"))
		c.some(2 * windowSeconds * time.Second)
	}},
	{name: "room again", do: (*chaos).makeRoom},
	{name: "store deleted", room: true, do: func(c *chaos) { c.take(os.Remove, c.e.storePath()) }},
	{name: "lock deleted", room: true, do: func(c *chaos) { c.take(os.Remove, filepath.Join(c.e.dir, "state", "lock")) }},
	{name: "all state deleted", room: true, do: func(c *chaos) { c.take(empty, filepath.Join(c.e.dir, "state")) }},
	{name: "log cut", room: true, do: (*chaos).cutLog},
	{name: "an address flood", do: (*chaos).crowd},
	{name: "a flood of the socket", do: (*chaos).flood},
	{name: "windows pass", do: func(c *chaos) { c.some(4 * windowSeconds * time.Second) }},
	{name: "clock 10 minutes ahead", clock: true, do: func(c *chaos) { c.step(10 * time.Minute) }},
	{name: "clock 10 minutes back", clock: true, do: func(c *chaos) { c.step(-10 * time.Minute) }},
	{name: "clock a year ahead", clock: true, do: func(c *chaos) { c.step(year) }},
	{name: "clock a year back", clock: true, do: func(c *chaos) { c.step(-year) }},
	{name: "clock right", clock: true, do: func(c *chaos) { c.step(-c.ahead) }},
}

const year = 365 * 24 * time.Hour

// some waits for a part of d.
func (c *chaos) some(d time.Duration) { time.Sleep(time.Duration(c.rnd.Int64N(int64(d)))) }

// isDown: without a process, nothing is treated and status says so.
func (c *chaos) isDown(how string) {
	c.Helper()
	if got := c.s.transfer(client(c.rnd.IntN(c.listed), 7), large); got != "cubic" {
		c.Errorf("%s: a transfer runs %s", how, got)
	}
	if out, _, code := c.e.verb("status"); code != exitDown {
		c.Errorf("%s: status ends with %d: %s", how, code, out)
	}
}

// start starts again, with room on the disk: it needs some.
func (c *chaos) start() {
	c.Helper()
	c.makeRoom()
	c.e.start()
	c.stop = c.stopNext
}

func (c *chaos) makeRoom() {
	if c.free != nil {
		c.free()
		c.free = nil
	}
}

func (c *chaos) killStart() {
	c.e.kill()
	c.makeRoom()
	c.e.launch()
	c.some(500 * time.Millisecond)
	c.e.kill()
	c.start()
}

func (c *chaos) sleep() {
	polls := c.status().Agent.Polls
	c.e.pause()
	time.Sleep(12 * time.Second) // treatment.expiry is 9 s
	if got := c.s.transfer(client(c.rnd.IntN(c.listed), 7), large); got != "cubic" {
		c.Errorf("past the expiry a transfer runs %s", got)
	}
	c.e.signal(syscall.SIGCONT)
	// Until it has polled, its status is that of before, and nothing is treated.
	eventually(c, "two polls after SIGCONT", patience, func() bool { return c.status().Agent.Polls > polls+1 })
}

// promise asks, and keeps what the answer says.
func (c *chaos) promise(args ...string) {
	c.Helper()
	stops := args[0] == "stop"
	_, errs, code := c.e.verb(args...)
	switch {
	case code == exitOK:
		c.stop, c.stopNext = stops, stops
	case stops && strings.Contains(errs, "needs a TCP iterator"): // which the lab's kernel lacks
		c.stop, c.stopNext = true, c.free == nil
	case c.free != nil && stops && strings.Contains(errs, "the next start will not know of it"):
		c.stop = true
	case c.free != nil && !stops && strings.Contains(errs, "treatment stays as it is"):
	default:
		c.Errorf("%v: exit code %d: %s", args, code, errs)
	}
}

// reload applies the configuration, and waits until it is in force.
func (c *chaos) reload() {
	c.Helper()
	c.e.writeConfig()
	c.e.signal(syscall.SIGHUP)
	eventually(c, "reloaded", patience, func() bool {
		return strings.Count(c.e.log.String(), "reload: by SIGHUP; ") > 0 && !c.alarm("reload: ")
	})
}

// reloadNonsense leaves what is in force.
func (c *chaos) reloadNonsense() {
	path := c.e.configPath()
	nonsense := []func() error{
		func() error { return os.Remove(path) },
		func() error { return os.WriteFile(path, []byte("pop: test\nwindw: 3s\n"), 0o600) },
		func() error { return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)) },
		func() error { return os.WriteFile(path, []byte(c.e.cfg.yaml(c.e.dir)+"ports: [443]\n"), 0o600) },
	}
	check(c, nonsense[c.rnd.IntN(len(nonsense))]())
	c.e.signal(syscall.SIGHUP)
	eventually(c, "reload refused", patience, func() bool { return c.alarm("reload: ") })
	c.look("a reload of nonsense, still in the file")
	check(c, os.RemoveAll(path))
	c.reload()
}

// take takes something of the state away from a running `up`: it stops treating by itself. What
// a new start cannot know it need not keep.
func (c *chaos) take(how func(string) error, path string) {
	c.Helper()
	check(c, how(path))
	eventually(c, "stopped by itself", patience, func() bool {
		s := c.status()
		return s.Agent.Stopped && c.alarm("round: treatment is stopped: ")
	})
	if got := c.s.transfer(client(c.rnd.IntN(c.listed), 7), large); got != "cubic" {
		c.Errorf("%s taken away: a transfer runs %s", filepath.Base(path), got)
	}
	c.e.kill()
	if _, err := os.Stat(c.e.storePath()); err == nil {
		c.start()
		return
	}
	if log := c.e.storePath() + "-wal"; os.Remove(log) == nil {
		check(c, os.WriteFile(log, []byte("left"), 0o600))
		c.e.launch()
		if code := c.e.ended(); code != exitFailed || !strings.Contains(c.e.log.String(), "log of a store that is gone") {
			c.Errorf("without its store: exit code %d: %s", code, c.e.log)
		}
		check(c, os.Remove(log))
	} else {
		c.rounds = nil // and nothing that could tell of them
	}
	c.stopNext = false
	c.start()
}

// empty removes all that dir has.
func empty(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		err = errors.Join(err, os.RemoveAll(name))
	}
	return err
}

// cutLog shortens the log of commits after a crash.
func (c *chaos) cutLog() {
	c.e.kill()
	log := c.e.storePath() + "-wal"
	info, err := os.Stat(log)
	check(c, err)
	if info.Size() > 0 {
		check(c, os.Truncate(log, c.rnd.Int64N(info.Size())))
	}
	c.e.launch()
	eventually(c, "start after a cut log", patience, func() bool {
		s, err := c.e.status()
		return err == nil && s.Agent.Polls > 0 || strings.Contains(c.e.log.String(), "store damaged: ")
	})
	if strings.Contains(c.e.log.String(), "store damaged: ") { // half of the log was in the store, as it says
		c.e.ended()
		check(c, empty(filepath.Dir(log)))
		c.rounds, c.stopNext = nil, false
		c.start()
		return
	}
	if c.alarm("missing: ") { // with what a stop or a resume wrote
		c.stopNext = c.status().StoppedNext
	}
	c.stop = c.stopNext
}

// crowd is many networks of one site, with a transfer each.
func (c *chaos) crowd() {
	for i := range 64 {
		if got := c.s.transfer(client(networks+c.rnd.IntN(networks), 1+i), 200_000); got != "cubic" {
			c.Errorf("one of a crowd runs %s", got)
		}
	}
}

// flood holds more connections to the control socket than it takes.
func (c *chaos) flood() {
	for range 200 {
		conn, err := net.Dial("unix", c.e.socketPath())
		if err == nil {
			defer conn.Close()
		}
	}
	c.promise("stop")
	c.promise("resume")
}

// step sets the wall clock.
func (c *chaos) step(by time.Duration) {
	at := unix.NsecToTimeval(time.Now().Add(by).UnixNano())
	check(c, unix.Settimeofday(&at))
	c.ahead += by
	c.some(3 * windowSeconds * time.Second)
}

// mend gives back what outlives the test.
func (c *chaos) mend() {
	c.makeRoom()
	if c.ahead != 0 {
		c.step(-c.ahead)
	}
}
