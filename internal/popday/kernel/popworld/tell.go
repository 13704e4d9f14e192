package pop

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/congctl/congctl/internal/core/pop"
)

// tellShare of a day passes between two lines of progress: 5 %, as a line costs the
// guest some 100 us, and a day of hours is watched for minutes.
const tellShare = 20

// tell tells how far the day is until its last moment.
func (d *day) tell(length time.Duration) {
	for i := range time.Duration(tellShare - 1) {
		at := (length * (i + 1) / tellShare).Truncate(time.Second)
		time.Sleep(time.Until(d.began.Add(at)))
		p := pop.Progress{At: at, End: length, Selected: pop.Nobody}
		p.Responses, p.Large, p.Broken = d.book.count()
		if d.product != nil {
			p.Selected = selected(logEnd(lastLines))
		}
		d.progress(p.String())
	}
}

// lastLines in bytes: of the log, where the last round is. A round has two lines of 300.
const lastLines = 8 << 10

func logEnd(n int64) []byte {
	f, err := os.Open(logPath)
	if err != nil {
		return nil // not started yet
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		n = min(n, info.Size())
		b := make([]byte, n)
		got, _ := f.ReadAt(b, info.Size()-n)
		return b[:got]
	}
	return nil
}

var roundLine = regexp.MustCompile(`msg=round .*\bselected=(\d+)`)

// selected is what the product's last round left selected, by its log.
func selected(log []byte) int {
	i := bytes.LastIndex(log, []byte("msg=round window="))
	if i < 0 {
		return pop.Nobody
	}
	line, _, _ := bytes.Cut(log[i:], []byte("\n"))
	m := roundLine.FindSubmatch(line)
	if m == nil {
		return pop.Nobody
	}
	n, _ := strconv.Atoi(string(m[1])) // digits
	return n
}
