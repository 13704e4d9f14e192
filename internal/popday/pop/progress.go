package pop

import (
	"fmt"
	"strings"
	"time"
)

// Progress is how far a day is. Its machine prints it as a line of text, which people can
// read as well.
type Progress struct {
	At, End                  time.Duration // of the day
	Responses, Large, Broken int
	Selected                 int // client networks that congctl has selected now; NoSelection if nothing decides
}

// NoSelection means no selection: there is no congctl, or it has not had a round yet.
const NoSelection = -1

const (
	progressFormat = "%s of %s: %d responses, %d large, %d broken"
	selectedFormat = ", %d selected"
)

func (p Progress) String() string {
	text := fmt.Sprintf(progressFormat, p.At, p.End, p.Responses, p.Large, p.Broken)
	if p.Selected != NoSelection {
		text += fmt.Sprintf(selectedFormat, p.Selected)
	}
	return text
}

// ParseProgress reads such a line; ok is false for any other text.
func ParseProgress(line string) (p Progress, ok bool) {
	var at, end string
	// A word ends at a space, so the colon is removed first.
	_, err := fmt.Sscanf(strings.Replace(line, ":", "", 1), strings.Replace(progressFormat, ":", "", 1),
		&at, &end, &p.Responses, &p.Large, &p.Broken)
	if err != nil {
		return Progress{}, false
	}
	if p.At, err = time.ParseDuration(at); err != nil {
		return Progress{}, false
	}
	if p.End, err = time.ParseDuration(end); err != nil {
		return Progress{}, false
	}
	if i := strings.LastIndex(line, ", "); i < 0 {
		return Progress{}, false
	} else if _, err := fmt.Sscanf(line[i:], selectedFormat, &p.Selected); err != nil {
		p.Selected = NoSelection
	}
	return p, p.String() == line
}
