package popworld

import (
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/congctl/congctl/internal/popday/pop"
)

// tellShare of a day passes between two lines of progress: 5 %, as a line costs the
// guest some 100 us, and a day of hours is watched for minutes.
const tellShare = 20

// tell reports how far the day is until its end.
func (d *day) tell(length time.Duration) {
	for i := range time.Duration(tellShare - 1) {
		at := (length * (i + 1) / tellShare).Truncate(time.Second)
		time.Sleep(time.Until(d.began.Add(at)))
		p := pop.Progress{At: at, End: length, Selected: pop.NoSelection}
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

var roundLine = regexp.MustCompile(`round of \S+Z: .*; (\d+) in the plan,`)

// selected returns how many prefixes the product's last round left selected, from its log.
func selected(log []byte) int {
	rounds := roundLine.FindAllSubmatch(log, -1)
	if len(rounds) == 0 {
		return pop.NoSelection
	}
	n, _ := strconv.Atoi(string(rounds[len(rounds)-1][1])) // digits
	return n
}
