package sample

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// The test binary runs itself as a child in the same network namespace: to hold
// more sockets than one process may have files, and to measure a sampler's memory
// without the sockets' holder.
const childRole = "CONGCTL_CHILD"

func TestChildRole(t *testing.T) {
	var role string
	var a, b, c int
	if _, err := fmt.Sscan(os.Getenv(childRole), &role, &a, &b, &c); err != nil {
		t.Skip("runs only as a child of other tests; no minimum kernel")
	}
	switch role {
	case "crowd":
		holdCrowd(t, a, b, c)
	case "polls":
		pollAsChild(t, a)
	}
}

func child(role string, numbers ...int) *exec.Cmd {
	text := role
	for i := range 3 {
		if i < len(numbers) {
			text += " " + strconv.Itoa(numbers[i])
		} else {
			text += " 0"
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestChildRole$")
	cmd.Env = append(os.Environ(), childRole+"="+text)
	cmd.Stderr = os.Stderr
	return cmd
}

// crowd opens n sockets that stand still, half of them IPv6, two for each
// connection, and returns the cookies that the kernel gave them.
func crowd(t testing.TB, n int) map[uint64]uint8 {
	t.Helper()
	const most = 5000 // connections of one child: below the usual limits of files and ephemeral ports
	cookies := make(map[uint64]uint8, n)
	port := 8000
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		for left := n / 4; left > 0; left -= most {
			port++
			for _, cookie := range startCrowd(t, family, port, min(left, most)) {
				cookies[cookie] = uint8(family)
			}
		}
	}
	return cookies
}

func startCrowd(t testing.TB, family, port, connections int) []uint64 {
	t.Helper()
	cmd := child("crowd", family, port, connections)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); _ = cmd.Wait() })
	cookies := make([]uint64, 2*connections)
	if err := binary.Read(bufio.NewReader(stdout), binary.NativeEndian, cookies); err != nil {
		t.Fatalf("crowd on port %d: %v", port, err)
	}
	return cookies
}

// holdCrowd is the child: it opens connections, writes their cookies and keeps
// them until its standard input ends.
func holdCrowd(t *testing.T, family, port, connections int) {
	moreFiles(t, uint64(2*connections+100))
	w := newWorld(t)
	l := w.listen(family, port, 4096, [...]string{"cubic", "bbr"}[port%2])
	cookies := make([]uint64, 0, 2*connections)
	for i := range connections {
		p := w.connect(l, family, 1000+i/40, port, "")
		w.move(p.server, p.client, 500)
		for _, fd := range []int{p.client, p.server} {
			cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
			w.must(err)
			cookies = append(cookies, cookie)
		}
	}
	w.must(binary.Write(os.Stdout, binary.NativeEndian, cookies))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// pollAsChild polls so often and tells the sockets of the last poll and its peak
// memory in kB.
func pollAsChild(t *testing.T, n int) {
	spaces, err := OpenNamespaces(Own)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPoll(spaces, PollConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var st PollStats
	for range n {
		if st, err = p.Run(func(*Namespace, *inetdiag.Sock) {}); err != nil {
			t.Fatal(err)
		}
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if peak, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			fmt.Println(st.Sockets, strings.Fields(peak)[0])
		}
	}
}
