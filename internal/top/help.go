package top

import "fmt"

// helpText fits 80 columns and 22 lines.
var helpText = []string{
	"",
	"  Tab, 1, 2         networks, connections of this host",
	"  ↓ ↑ j k           move; PgDn PgUp, g G or Home End: by pages, to the ends",
	"  Enter             why a network is or is not treated; Esc: back",
	"  < >  or  ← →      sort by the column on the left or right; ▲ ▼ mark it",
	"  r                 reverse the order",
	"  /                 filter: rows that have each of these words; Esc: all rows",
	"  Space             hold the picture, and let it go on",
	"  q, Ctrl-C         quit",
	"",
	"  MBIT/S, CONNS     median delivery rate of a network's control connections in its",
	"                    last known window, and their number",
	"  TREATED           the same rate in its last treated block, Mbit/s",
	"  GAIN              what its pairs show: delivery rate, treatment over control",
	"  OPEN, NOW         its connections on this host, and what clients acknowledged",
	"                    between the last two dumps, Mbit/s",
	"  RATE              the kernel's delivery rate of a connection, Mbit/s",
	"  ARM               T treated, C control, until UNTIL (UTC)",
	"",
	"  A wider screen shows more columns. docs/verb/top.md has them all.",
}

// empty says why a table has no rows, and what to do.
func (m *Model) empty(all int) []string {
	every := fmt.Sprintf("  It tries again every %s.", m.opt.Every)
	switch {
	case all > 0:
		return []string{"  No row has each word of the filter. Esc shows all rows."}
	case m.onConn && m.noDump != "":
		return []string{"  The connections of this host cannot be read:", "  " + clean(m.noDump), "", every}
	case m.onConn && m.dumped.IsZero():
		return []string{"  Reading the connections of this host."}
	case m.onConn:
		return []string{"  This host has no TCP connection now."}
	case m.trouble.Down:
		return []string{"  No congctl is running here. Start it:", "", "      sudo congctl up", "", every + other(m.opt.Host)}
	case m.trouble.Text != "":
		return []string{"  " + clean(m.trouble.Text), hint(m.trouble.Hint), "", every + other(m.opt.Host)}
	case m.answered.IsZero():
		return []string{"  Waiting for the first answer."}
	}
	return []string{"  No networks yet: the first window has not closed, or no client moved enough.", "",
		fmt.Sprintf("  A decision needs %d networks.", m.state.Needed) + other(m.opt.Host)}
}

func other(host bool) string {
	if host {
		return " Tab shows this host's connections."
	}
	return ""
}

func hint(text string) string {
	if text == "" {
		return ""
	}
	return "  try: " + clean(text)
}
