package top

import (
	"slices"
	"strings"
)

// pane is one of the tables.
type pane interface {
	move(by int)
	order(by, width int)
	turn()
	find(text string)
	filter() string
	shows() (shown, all int)
	sorted() string
	lines(width, height int) []Line
}

// table sorts, filters and shows rows. The cursor stays on its row where the rows change,
// but on the first one, so that the top of the list stays in sight. New rows are arranged once
// somebody looks: the other table's are not.
type table[R any, K comparable] struct {
	columns []column[R]
	key     func(*R) K
	natural string            // name of the order without a column, and of equals
	ties    func(a, b *R) int // compares by it; nil: rows come in it
	rows    []R
	shown   []*R
	stale   bool // shown is of the rows before
	sort    int  // column; -1: the natural order
	reverse bool
	words   string // filter
	cursor  int
	first   int // shown on the first line
}

func (t *table[R, K]) set(rows []R) { t.rows, t.stale = rows, true }

// now are the rows in sight.
func (t *table[R, K]) now() []*R {
	if t.stale {
		t.arrange()
	}
	return t.shown
}

// arrange filters and sorts, and finds the cursor's row again.
func (t *table[R, K]) arrange() {
	var held K
	if t.cursor > 0 && t.cursor < len(t.shown) {
		held = t.key(t.shown[t.cursor])
	}
	t.shown, t.stale = t.filtered(), false
	t.sortShown()
	if t.cursor > 0 {
		if at := slices.IndexFunc(t.shown, func(r *R) bool { return t.key(r) == held }); at >= 0 {
			t.first += at - t.cursor
			t.cursor = at
		}
	}
	t.move(0)
}

func (t *table[R, K]) sortShown() {
	if t.sort < 0 {
		if t.ties != nil {
			slices.SortFunc(t.shown, t.ties)
		}
		if t.reverse {
			slices.Reverse(t.shown)
		}
		return
	}
	compare, sign := t.columns[t.sort].compare, 1
	if t.reverse == t.columns[t.sort].words { // numbers: the highest first
		sign = -1
	}
	if t.ties == nil {
		slices.SortStableFunc(t.shown, func(a, b *R) int { return sign * compare(a, b) })
		return
	}
	slices.SortFunc(t.shown, func(a, b *R) int {
		if c := compare(a, b); c != 0 {
			return sign * c
		}
		return t.ties(a, b)
	})
}

func (t *table[R, K]) filtered() []*R {
	want := strings.Fields(strings.ToLower(t.words))
	kept := t.shown[:0]
	if len(want) == 0 {
		for i := range t.rows {
			kept = append(kept, &t.rows[i])
		}
		return kept
	}
	var b strings.Builder
	for i := range t.rows {
		b.Reset()
		for _, c := range t.columns {
			b.WriteString(c.text(&t.rows[i]) + " ")
		}
		text := strings.ToLower(b.String())
		if !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(text, w) }) {
			kept = append(kept, &t.rows[i])
		}
	}
	return kept
}

func (t *table[R, K]) move(by int)             { t.cursor = max(0, min(t.cursor+by, len(t.now())-1)) }
func (t *table[R, K]) turn()                   { t.reverse = !t.reverse; t.arrange() }
func (t *table[R, K]) find(text string)        { t.words = text; t.arrange() }
func (t *table[R, K]) filter() string          { return t.words }
func (t *table[R, K]) shows() (shown, all int) { return len(t.now()), len(t.rows) }

// order sorts by the next column that a screen shows, or by the one before.
func (t *table[R, K]) order(by, width int) {
	on := append([]int{-1}, fit(t.columns, width).shown...)
	at := max(0, slices.Index(on, t.sort))
	t.sort, t.reverse = on[(at+by+len(on))%len(on)], false
	t.arrange()
}

func (t *table[R, K]) sorted() string {
	name := t.natural
	if t.sort >= 0 {
		name = t.columns[t.sort].name
	}
	if t.reverse {
		name += ", reversed"
	}
	return name
}

func (t *table[R, K]) at() (r R, ok bool) {
	if shown := t.now(); t.cursor < len(shown) {
		return *shown[t.cursor], true
	}
	return r, false
}

// lines are the heading and the rows around the cursor.
func (t *table[R, K]) lines(width, height int) []Line {
	f, shown := fit(t.columns, width), t.now()
	head := f.line(func(i int) string { return t.columns[i].name + t.arrow(i) }, true)
	lines := []Line{{pad(head, width, false), Head}}
	height--
	t.first = max(0, min(t.first, t.cursor, len(shown)-height))
	t.first = max(t.first, t.cursor-max(height, 1)+1)
	for i := t.first; i < min(t.first+height, len(shown)); i++ {
		r := shown[i]
		line := Line{Text: f.line(func(i int) string { return clean(t.columns[i].text(r)) }, false)}
		if i == t.cursor {
			line = Line{pad(line.Text, width, false), Cursor}
		}
		lines = append(lines, line)
	}
	return lines
}

// arrow marks the column that rows are sorted by.
func (t *table[R, K]) arrow(i int) string {
	switch {
	case i != t.sort:
		return ""
	case t.columns[i].words != t.reverse:
		return "▲"
	}
	return "▼"
}

// fitted are the columns that a screen has room for, and their widths.
type fitted[R any] struct {
	columns       []column[R]
	shown, widths []int
}

const gap = 1 // between columns, each of which has a place for the arrow, too

// fit takes the columns of the lowest ranks, and gives them what is left up to their most.
func fit[R any](columns []column[R], width int) fitted[R] {
	f := fitted[R]{columns: columns}
	taken, left, full := map[int]bool{}, width+gap, false
	for rank := range len(columns) {
		for i, c := range columns {
			need := c.width + 1 + gap
			if c.rank != rank || full {
				continue
			}
			if full = need > left && len(taken) > 0; !full {
				left -= need
				taken[i] = true
			}
		}
	}
	for i, c := range columns {
		if taken[i] {
			more := max(0, min(left, c.most-c.width))
			left -= more
			f.shown, f.widths = append(f.shown, i), append(f.widths, c.width+1+more)
		}
	}
	return f
}

// line puts the cells of a row beside each other.
func (f fitted[R]) line(text func(column int) string, head bool) string {
	var b strings.Builder
	for n, i := range f.shown {
		cell, width := text(i), f.widths[n]
		if n > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		switch {
		case f.columns[i].words:
			b.WriteString(pad(cell, width, false))
		case head && !strings.HasSuffix(cell, "▲") && !strings.HasSuffix(cell, "▼"):
			b.WriteString(pad(cell+" ", width, true))
		case head:
			b.WriteString(pad(cell, width, true))
		default:
			b.WriteString(pad(cell, width-1, true) + " ")
		}
	}
	return strings.TrimRight(b.String(), " ")
}
