package report

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browser is a headless Chromium, spoken to in its DevTools protocol: JSON messages,
// each ended by a zero byte, over two pipes. No port is opened.
type browser struct {
	t       *testing.T
	in      io.WriteCloser
	replies chan message
	events  chan message
	session string
	last    int
}

type message struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
}

// patience is how long a loaded machine may take to start a browser or draw a page.
const patience = 2 * time.Minute

func newBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("needs Chromium to open the report in: apt-get install chromium; no minimum kernel")
	}
	toBrowser, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--no-first-run", "--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	b := &browser{t: t, in: in, replies: make(chan message, 1), events: make(chan message, 10_000)}
	go b.read(out)
	killer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		b.call("Browser.close", nil, nil)
		cmd.Wait()
		killer.Stop()
		in.Close()
	})
	return b
}

// read hands out replies and events until the browser ends.
func (b *browser) read(out io.ReadCloser) {
	defer out.Close()
	defer close(b.replies)
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line[:len(line)-1], &m) != nil {
			return
		}
		if m.ID == 0 {
			b.events <- m
		} else {
			b.replies <- m
		}
	}
}

// call asks and waits for the answer.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.last++
	p, err := json.Marshal(params)
	if err != nil {
		b.t.Fatal(err)
	}
	line, err := json.Marshal(message{ID: b.last, Method: method, Params: p, SessionID: b.session})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(line, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	m, ok := <-b.replies
	if !ok || m.Error != nil {
		b.t.Fatalf("%s: %+v (browser ended: %v)", method, m.Error, !ok)
	}
	if result != nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			b.t.Fatal(err)
		}
	}
}

// visit opens a page and returns what went wrong with it: script errors, messages on the
// console, refused content, and every request but that for the page itself.
func (b *browser) visit(url string) (faults []string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	for {
		select {
		case e := <-b.events:
			switch e.Method {
			case "Page.loadEventFired":
				return faults
			case "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded":
				faults = append(faults, e.Method+": "+string(e.Params))
			case "Network.requestWillBeSent":
				var p struct{ Request struct{ URL string } }
				if err := json.Unmarshal(e.Params, &p); err != nil {
					b.t.Fatal(err)
				}
				if p.Request.URL != url && !strings.HasPrefix(p.Request.URL, "data:") {
					faults = append(faults, "request: "+p.Request.URL)
				}
			}
		case <-time.After(patience):
			b.t.Fatalf("%s was not loaded within %v", url, patience)
		}
	}
}

// open makes a page and listens to it.
func (b *browser) open() {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
}

// evaluate runs an expression in the page.
func (b *browser) evaluate(expression string, value any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	if err := json.Unmarshal(r.Result.Value, value); err != nil {
		b.t.Fatal(err)
	}
}

const drawings = `Array.from(document.querySelectorAll("svg")).map(s => {
	const box = s.getBoundingClientRect();
	const marks = Array.from(s.querySelectorAll(".mark"));
	const seen = m => { const b = m.getBBox(), c = getComputedStyle(m); return b.width + b.height > 0 && (c.fill != "none" || c.stroke != "none"); };
	const texts = Array.from(s.querySelectorAll("text")).filter(t => { const r = t.getBoundingClientRect();
		return r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1; });
	return {label: s.getAttribute("aria-label") || "", width: box.width, height: box.height, marks: marks.length,
		hidden: marks.filter(m => !seen(m)).length, cut: texts.map(t => t.textContent)};
})`

type drawing struct {
	Label         string
	Width, Height float64
	Marks, Hidden int
	Cut           []string
}

func TestReportInBrowser(t *testing.T) {
	b := newBrowser(t)
	b.open()
	for name, text := range map[string]string{"sweep": sweepText, "matrix": matrixText, "flows": flowsText} {
		t.Run(name, func(t *testing.T) { testDrawn(t, b, text) })
	}
	t.Run("colours", func(t *testing.T) { testColours(t, b) })
	t.Run("faults are seen", func(t *testing.T) { testFaultsAreSeen(t, b) })
}

// No script error, nothing asked for, and every plot with all its marks and labels.
func testDrawn(t *testing.T, b *browser, text string) {
	page, err := htmlPage(folder(t, text))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range b.visit(save(t, page)) {
		t.Error(fault)
	}
	var drawn []drawing
	b.evaluate(drawings, &drawn)
	if want := strings.Count(string(page), "<svg "); len(drawn) != want || want < 5 {
		t.Fatalf("%d drawings, the page has %d", len(drawn), want)
	}
	for _, d := range drawn {
		if d.Label == "" || d.Width < 200 || d.Height < 50 || d.Marks == 0 || d.Hidden > 0 || len(d.Cut) > 0 {
			t.Errorf("not drawn well: %+v", d)
		}
	}
}

// The page is light or dark as the reader's system is, and always light on paper.
func testColours(t *testing.T, b *browser) {
	page, err := htmlPage(folder(t, smallText))
	if err != nil {
		t.Fatal(err)
	}
	b.visit(save(t, page))
	for _, c := range []struct{ media, scheme, want string }{
		{"screen", "light", "rgb(255, 255, 255)"}, {"screen", "dark", "rgb(20, 23, 26)"}, {"print", "dark", "rgb(255, 255, 255)"},
	} {
		b.call("Emulation.setEmulatedMedia", map[string]any{"media": c.media,
			"features": []map[string]string{{"name": "prefers-color-scheme", "value": c.scheme}}}, nil)
		var got string
		b.evaluate("getComputedStyle(document.body).backgroundColor", &got)
		if got != c.want {
			t.Errorf("%s, %s: background %s, want %s", c.media, c.scheme, got, c.want)
		}
	}
}

// A page that misbehaves is noticed: else the other tests prove nothing.
func testFaultsAreSeen(t *testing.T, b *browser) {
	for what, page := range map[string]string{
		"request": `<img src="http://127.0.0.1:9/x.png">`,
		"script":  `<script>nowhere()</script>`,
		"console": `<script>console.warn("x")</script>`,
		"policy":  `<meta http-equiv="Content-Security-Policy" content="default-src 'none'"><img src="http://127.0.0.1:9/x.png">`,
	} {
		if faults := b.visit(save(t, []byte(page))); len(faults) == 0 {
			t.Errorf("%s: nothing noticed", what)
		}
	}
	b.visit(save(t, []byte(`<svg aria-label="x" width="300" height="100"><path class="mark" d=""/><text x="290" y="50">cut off</text></svg>`)))
	var drawn []drawing
	if b.evaluate(drawings, &drawn); len(drawn) != 1 || drawn[0].Hidden != 1 || len(drawn[0].Cut) != 1 {
		t.Errorf("a bad drawing: %+v", drawn)
	}
}

func save(t *testing.T, page []byte) (url string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, page, 0o644); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}
